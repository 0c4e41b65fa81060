// SPDX-License-Identifier: Apache-2.0
// The drawing of stacks: a click on a function makes it as wide as the page, one on the cause at the bottom shows its gaps.

function connectStacks() {
  for (const drawing of document.querySelectorAll('svg.stacks')) {
    const nodes = [...drawing.querySelectorAll('svg[data-level]')];
    const widen = node => {
      const from = +node.dataset.from, width = +node.dataset.width, level = +node.dataset.level;
      for (const other of nodes) {
        const left = (+other.dataset.from - from) / width * 100, right = left + +other.dataset.width / width * 100;
        const above = +other.dataset.level < level && left <= 0.001 && right >= 99.999;
        other.style.display = right <= 0.001 || left >= 99.999 ? 'none' : '';
        other.setAttribute('x', above ? '0%' : `${left}%`);
        other.setAttribute('width', above ? '100%' : `${right - left}%`);
        other.classList.toggle('above', above);
      }
    };
    for (const node of nodes) {
      node.setAttribute('tabindex', '0');
      node.setAttribute('role', 'button');
      const act = () => {
        widen(node);
        const row = node.dataset.cause && document.getElementById(node.dataset.cause);
        const timeline = row && timelines().find(one => groupOf(one, processOf(row)));
        if (timeline) chooseRow(timeline, row);
      };
      node.addEventListener('click', act);
      node.addEventListener('keydown', event => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        act();
      });
    }
  }
}
