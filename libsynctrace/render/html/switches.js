// SPDX-License-Identifier: Apache-2.0
// Ticks that switch changes on and off. What a set of changes saves was replayed when the page was made: it is looked up, never
// added up. A set that was not replayed says so.

const NOT_REPLAYED = 'this set was not replayed';

class Switches {
  constructor(section) {
    const numbers = text => text.split(':').map(Number);
    const {base, steps, scale, sets} = section.dataset;
    this.section = section;
    this.base = +base;
    this.steps = +steps;
    this.scale = +scale;
    this.sets = new Map(sets.split(' ').map(text => { const [set, ns, lo, hi] = numbers(text); return [set, {ns, lo, hi}]; }));
    this.sets.set(0, {ns: 0, lo: 0, hi: 0});
    this.alone = 'alone' in section.dataset;  // a job's rows say what each saves by itself
    const process = section.closest('[data-process]') ?? document.querySelector('header.job');
    this.rows = [...section.querySelectorAll('.remedy, .basis.left')];
    this.all = 2 ** this.rows.length - 1;
    this.bar = process.querySelector('svg.bar.possible');
    this.tile = process.querySelector('.tile.could-be');
    // With all of them on, everything reads as it was printed.
    this.follows = [...section.querySelectorAll('.remedy .gain'), this.tile, this.bar].filter(Boolean);
    this.printed = this.follows.map(one => [...one.childNodes].map(node => node.cloneNode(true)));
    this.boxes = this.rows.map(row => this.box(row));
    this.sum = element('div', {class: 'chosen', role: 'status'}, element('span'), this.smallBar());
    section.querySelector('h3').after(this.sum);
    this.follow();
  }

  box(row) {
    const title = row.matches('.remedy') ? row.querySelector('h4').textContent : 'the changes that are left out';
    const box = element('input', {type: 'checkbox', class: 'switch', 'aria-label': `count in: ${title}`, onchange: () => this.follow()});
    box.checked = true;
    row.prepend(box);
    return box;
  }

  // A step now, and as it could be.
  smallBar() {
    const bar = this.bar?.cloneNode(true);
    if (bar) bar.classList.add('small');
    return bar ?? '';
  }

  get on() { return this.boxes.reduce((sum, box, i) => sum + (box.checked ? 2 ** i : 0), 0); }

  time(ns) { return durationText(this.steps > 0 ? Math.trunc(ns / this.steps) : ns); }
  share(ns) { return shareText(ns, this.base); }
  range({lo, hi}) { return `${(100 * lo / this.base).toFixed(0)} - ${(100 * hi / this.base).toFixed(0)} %`; }

  follow() {
    const {on} = this, is_all = on === this.all;
    this.follows.forEach((one, i) => one.replaceChildren(...this.printed[i].map(node => node.cloneNode(true))));
    if (!is_all) this.rows.forEach((row, i) => row.matches('.remedy') && this.sayRow(row, i, on));
    this.rows.forEach((row, i) => row.classList.toggle('off', !this.boxes[i].checked));
    const saving = this.sets.get(on);
    this.sayAll(on, saving);
    for (const bar of [this.bar, this.sum.querySelector('svg')].filter(Boolean)) this.draw(bar, saving);
    if (this.tile && !is_all) {
      const [time, note] = this.tile.querySelectorAll('dd');
      time.textContent = saving ? this.time(this.base - saving.ns) : 'not replayed';
      note.textContent = saving ? `${this.share(saving.ns)} less (${this.range(saving)}), with the changes that are ticked` : NOT_REPLAYED;
    }
  }

  // A row that is on says what it adds to those above it that are on; one that is off, what it would add to all that are on.
  // Where rows say what each saves by itself, that stays.
  sayRow(row, i, on) {
    const bit = 2 ** i, is_on = this.boxes[i].checked;
    const with_it = this.sets.get(is_on ? on % (2 * bit) : on + bit), without = this.sets.get(is_on ? on % bit : on);
    const [saves, so_far] = row.querySelectorAll('.gain > span'), picture = row.querySelector('.gain .interval');
    const known = with_it && without, gain = known ? Math.max(0, with_it.ns - without.ns) : 0;
    if (!this.alone) saves.replaceChildren(is_on ? 'saves ' : 'would save ', element('b', {}, known ? element('data', {value: gain}, this.share(gain)) : '?'));
    so_far.textContent = !known ? NOT_REPLAYED : is_on ? `${this.share(with_it.ns)} so far (${this.range(with_it)})` : `${this.share(with_it.ns)} with those ticked`;
    if (!known || !picture) return picture?.remove();
    const at = ns => clamp(100 * ns / (this.base * this.scale / 100), 0, 100), [range, point] = picture.querySelectorAll('rect');
    place(range, at(with_it.lo), Math.max(0.5, at(with_it.hi) - at(with_it.lo)));
    point.setAttribute('x', `${at(with_it.ns)}%`);
    picture.setAttribute('aria-label', so_far.textContent);
  }

  sayAll(on, saving) {
    const count = this.boxes.filter(box => box.checked).length;
    const now = `${this.steps > 0 ? 'A step takes' : 'The run takes'} ${this.time(this.base)}`;
    const words = on === 0 ? `${now}. No change is ticked.` :
      `${now}; with ${count} of ${this.boxes.length} changes ${saving ? `${this.time(this.base - saving.ns)}: ${this.share(saving.ns)} less (${this.range(saving)}).` : `it is not known: ${NOT_REPLAYED}.`}`;
    this.sum.firstChild.textContent = words;
    this.sum.classList.toggle('unknown', !saving);
  }

  // The part that would be left, and the range of it.
  draw(bar, saving) {
    const [left, range] = ['.possible', '.range'].map(kind => bar.querySelector(`rect${kind}`));
    const at = ns => 100 * (this.base - ns) / this.base;
    if (left) place(left, 0, saving ? at(saving.ns) : 0);
    if (range) place(range, saving ? at(saving.hi) : 0, saving ? at(saving.lo) - at(saving.hi) : 0);
    const words = saving ? `possible: ${this.time(this.base - saving.ns)}` : NOT_REPLAYED;
    bar.setAttribute('aria-label', words);
    if (left) left.querySelector('title').textContent = words;
  }
}

function place(rect, from, width) {
  rect.setAttribute('x', `${from.toFixed(3)}%`);
  rect.setAttribute('width', `${width.toFixed(3)}%`);
}

function connectSwitches() {
  for (const section of document.querySelectorAll('.changes[data-sets]')) section.switches = new Switches(section);
}
