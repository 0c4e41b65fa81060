// SPDX-License-Identifier: Apache-2.0
// What a reader does with the changes of the page: switch them on and off, copy what to type, and link to a part of the page.
import assert from 'node:assert/strict';
import {readFileSync, writeFileSync} from 'node:fs';
import {after, before, test} from 'node:test';
import {closeBrowser, folder, golden, openBrowser, pageOf, reportOf, synctrace, viewOf, withPage} from './page_case.mjs';

before(openBrowser);
after(closeBrowser);

const TRACE = golden('point_strokes.fps');
const file = pageOf(TRACE);

// The sets that stand in the page: by the switches that are on.
const setsOf = path => {
  const [, base, steps, sets] = readFileSync(path, 'utf8').match(/data-base="(\d+)" data-steps="(\d+)" data-sets="([^"]*)"/);
  return {base: +base, steps: +steps, sets: new Map([[0, [0, 0, 0]], ...sets.split(' ').map(one => { const [set, ...saving] = one.split(':').map(Number); return [set, saving]; })])};
};

const stateOf = page => page.evaluate(() => {
  const width = selector => parseFloat(document.querySelector(selector).getAttribute('width'));
  return {sum: document.querySelector('.chosen').textContent, tile: document.querySelector('.tile.could-be').textContent, bar: width('figure.step rect.possible'), small: width('.chosen rect.possible'),
    range: width('figure.step rect.range'), saves: [...document.querySelectorAll('.remedy .saves')].map(one => one.textContent), so_far: [...document.querySelectorAll('.remedy .so-far')].map(one => one.textContent),
    boxes: [...document.querySelectorAll('input.switch')].map(box => box.checked)};
});

const share = (ns, base) => `${(100 * ns / base).toFixed(1)} %`;
const isNear = (one, other) => assert.ok(Math.abs(one - other) < 0.01, `${one} ${other}`);

// Switches so that just the bits of `set` are on.
async function choose(page, set) {
  const boxes = page.locator('input.switch');
  for (let i = 0; i < await boxes.count(); ++i) await boxes.nth(i).setChecked(Math.floor(set / 2 ** i) % 2 === 1);
}

test('each set of changes shows what its own replay saves: bar, range, figures and words', async () => {
  const {base, steps, sets} = setsOf(file);
  const {remedies} = reportOf(TRACE).savings;
  const count = remedies.length, all = 2 ** count - 1;
  assert.equal(sets.size, all + 1);
  // Savings do not add up: at least one set is not the sum of its parts.
  assert.ok([...sets].some(([set, [ns]]) => { let sum = 0; for (let i = 0; i < count; ++i) if (set >> i & 1) sum += sets.get(2 ** i)[0]; return Math.abs(sum - ns) > base / 100; }));
  remedies.forEach((remedy, i) => assert.equal(sets.get(2 ** (i + 1) - 1)[0], remedy.cumulative.saving_ns ?? remedy.cumulative.ns));
  await withPage(file, {}, async page => {
    const printed = await stateOf(page);
    assert.deepEqual(printed.boxes, Array(count).fill(true));
    for (const set of [5, 9, 2, 8, 0, 14, all]) {
      await choose(page, set);
      const [ns, lo, hi] = sets.get(set), state = await stateOf(page);
      isNear(state.bar, 100 * (base - ns) / base);
      isNear(state.small, state.bar);
      isNear(state.range, 100 * (hi - lo) / base);
      if (set > 0) assert.ok(state.sum.includes(`${share(ns, base)} less (${(100 * lo / base).toFixed(0)} - ${(100 * hi / base).toFixed(0)} %)`), state.sum);
      if (set === all) continue;
      assert.ok(state.tile.includes(`${(Math.trunc((base - ns) / steps) / 1e6).toFixed(1)} ms`) && state.tile.includes(share(ns, base)), state.tile);
      for (let i = 0; i < count; ++i) {
        const is_on = set >> i & 1, below = set % 2 ** i;
        const gain = is_on ? sets.get(below + 2 ** i)[0] - sets.get(below)[0] : sets.get(set + 2 ** i)[0] - ns;
        assert.equal(state.saves[i], `${is_on ? 'saves' : 'would save'} ${share(Math.max(0, gain), base)}`);
        assert.ok(state.so_far[i].startsWith(share(sets.get(is_on ? below + 2 ** i : set + 2 ** i)[0], base)), state.so_far[i]);
      }
    }
    assert.deepEqual(await stateOf(page), printed);  // all on: as it was printed
  });
});

// A job of two ranks with two changes, and its ticks alone: each rank's own part has ticks as well.
const JOB = [0, 1].map(rank => golden(`ddp_host/rank${rank}`));
const jobFile = pageOf(JOB);
const jobTicks = page => page.locator('.changes[data-alone] input.switch');
const jobState = page => page.evaluate(() => {
  const section = document.querySelector('.changes[data-alone]'), width = selector => parseFloat(document.querySelector(selector).getAttribute('width'));
  const texts = selector => [...section.querySelectorAll(selector)].map(one => one.textContent);
  return {sum: section.querySelector('.chosen').textContent, bar: width('header.job svg.possible rect.possible'), range: width('header.job svg.possible rect.range'),
    small: width('.changes[data-alone] .chosen rect.possible'), saves: texts('.remedy .saves'), so_far: texts('.remedy .so-far'), off: section.querySelectorAll('.remedy.off').length};
});

test('the changes of a job have ticks: bar, range and words are those of a replay of all ranks', async () => {
  const {base, sets} = setsOf(jobFile), {job} = JSON.parse(synctrace('report', '--no-symbols', '--format', 'json', ...JOB));
  const [first, second] = job.causes;
  assert.deepEqual([sets.size, sets.get(1)[0], sets.get(2)[0], sets.get(3)[0]], [4, first.saving.ns, second.saving.ns, second.cumulative_saving_ns]);
  await withPage(jobFile, {}, async page => {
    const printed = await jobState(page);
    assert.match(printed.sum, /with 2 of 2 changes/);
    isNear(printed.bar, 100 * (base - sets.get(3)[0]) / base);
    for (const set of [2, 0, 1]) {
      for (const i of [0, 1]) await jobTicks(page).nth(i).setChecked((set >> i & 1) === 1);
      const [ns, lo, hi] = sets.get(set), state = await jobState(page);
      isNear(state.bar, 100 * (base - ns) / base);
      isNear(state.small, state.bar);
      isNear(state.range, 100 * (hi - lo) / base);
      if (set > 0) assert.ok(state.sum.includes(`with 1 of 2 changes`) && state.sum.includes(`${share(ns, base)} less`), state.sum);
      assert.equal(state.off, set === 0 ? 2 : 1);
      assert.deepEqual(state.saves, printed.saves);  // by itself each saves what it did
      [1, 2].forEach((bit, i) => assert.equal(state.so_far[i].split(' %')[0] + ' %', share(sets.get(set & bit ? set & (2 * bit - 1) : set | bit)[0], base)));
    }
    assert.equal(await page.locator('section.process .remedy.off').count(), 0);  // a rank's own ticks are its own
    await jobTicks(page).nth(1).check();
    assert.deepEqual(await jobState(page), printed);
  });
});

test('the ticks of a job are reached by Tab, named, and worked by keys, in light and dark', async () => {
  for (const colorScheme of ['light', 'dark']) {
    await withPage(jobFile, {colorScheme}, async page => {
      const labels = [];
      for (let i = 0; i < 40 && labels.length < 2; ++i) {
        await page.keyboard.press('Tab');
        const at = await page.evaluate(() => { const one = document.activeElement; return one.matches('.changes[data-alone] .switch') && {label: one.getAttribute('aria-label'), ring: getComputedStyle(one).outlineStyle, colour: getComputedStyle(one).outlineColor, back: getComputedStyle(document.body).backgroundColor}; });
        if (!at) continue;
        labels.push(at.label);
        assert.ok(at.ring !== 'none' && at.colour !== at.back, `${at.ring} ${at.colour}`);
        await page.keyboard.press(' ');
        assert.match((await jobState(page)).sum, labels.length === 1 ? /with 1 of 2 changes/ : /No change is ticked/);
      }
      assert.deepEqual(labels, (await page.$$eval('.changes[data-alone] h4', all => all.map(one => one.textContent))).map(title => `count in: ${title}`));
    });
  }
});

test('a set that was not replayed says so, and promises nothing', async () => {
  const lacking = `${folder}/lacking.html`;
  writeFileSync(lacking, readFileSync(file, 'utf8').replace(/ 5:[\d:]+/, ''));
  await withPage(lacking, {}, async page => {
    await choose(page, 5);
    const state = await stateOf(page);
    assert.match(state.sum, /not known: this set was not replayed/);
    assert.match(state.tile, /not replayed/);
    assert.equal(state.bar, 0);
    assert.equal(state.range, 0);
    assert.equal(state.so_far[2], 'this set was not replayed');
    assert.doesNotMatch(state.saves[2], /\d/);
  });
});

test('without a script there is no switch and no button, and what is printed stands', async () => {
  await withPage(file, {javaScriptEnabled: false}, async page => {
    assert.equal(await page.locator('input.switch, button, .chosen').count(), 0);
    assert.match(await page.textContent('.tile.could-be'), /Seems possible/);
    await page.locator('.remedy a.anchor').nth(1).click();
    assert.ok(page.url().endsWith('#p0-change-2'));
  });
});

test('switches and copy buttons are reached by Tab, named, and worked by keys, in light and dark', async () => {
  for (const colorScheme of ['light', 'dark']) {
    await withPage(file, {colorScheme}, async page => {
      const seen = [];
      for (let i = 0; i < 40; ++i) {
        await page.keyboard.press('Tab');
        const at = await page.evaluate(() => { const one = document.activeElement; return one.matches('.switch, .copy, .anchor') && {kind: one.className, label: one.getAttribute('aria-label'), ring: getComputedStyle(one).outlineStyle, colour: getComputedStyle(one).outlineColor, back: getComputedStyle(document.body).backgroundColor, visible: one.getBoundingClientRect().width > 0}; });
        if (at) seen.push(at);
        if (at?.kind === 'switch' && seen.filter(({kind}) => kind === 'switch').length === 1) {
          await page.keyboard.press(' ');
          assert.equal(await page.evaluate(() => document.activeElement.checked), false);
          assert.match((await stateOf(page)).sum, /3 of 4 changes/);
          await page.keyboard.press(' ');
        }
      }
      const titles = await page.$$eval('.remedy h4', all => all.map(one => one.textContent));
      assert.deepEqual(seen.filter(({kind}) => kind === 'switch').map(({label}) => label), titles.map(title => `count in: ${title}`));
      assert.deepEqual(seen.filter(({kind}) => kind === 'copy').map(({label}) => label), titles.map(title => `copy what to type: ${title}`));
      for (const {kind, label, ring, colour, back, visible} of seen) assert.ok(ring !== 'none' && colour !== back && label && visible, `${kind} ${ring} ${colour} ${label}`);
    });
  }
});

const typed = page => page.$$eval('.remedy p.type', all => all.map(one => [...one.querySelectorAll('code')].map(code => code.textContent).join('\n')));

test('the copy button copies exactly what is to be typed, with the clipboard and without', async () => {
  const said = reportOf(TRACE).savings.remedies.map(({to_type}) => to_type.join('\n'));
  // The clipboard works; it refuses; it is absent, and what is selected is copied.
  const kinds = [
    () => { globalThis.copied = []; Object.defineProperty(navigator, 'clipboard', {value: {writeText: async text => copied.push(text)}}); },
    () => { Object.defineProperty(navigator, 'clipboard', {value: {writeText: async () => { throw new Error('no'); }}}); },
    () => { Object.defineProperty(navigator, 'clipboard', {value: undefined}); },
  ];
  for (const [i, kind] of kinds.entries()) {
    await withPage(file, {}, async page => {
      await page.evaluate(kind);
      if (i > 0) await page.evaluate(() => { globalThis.copied = []; document.addEventListener('copy', () => copied.push(document.activeElement.value)); });
      assert.deepEqual(await typed(page), said);
      for (let k = 0; k < said.length; ++k) {
        await page.locator('.remedy button.copy').nth(k).focus();
        await page.keyboard.press('Enter');
        await page.waitForFunction(count => copied.length === count, k + 1);
        await page.waitForFunction(at => document.querySelectorAll('.remedy button.copy')[at].textContent === 'copied', k);
        assert.ok(await page.evaluate(at => document.activeElement === document.querySelectorAll('.remedy button.copy')[at], k), 'the focus stays');
      }
      assert.deepEqual(await page.evaluate(() => copied), said);
      assert.equal(await page.locator('textarea').count(), 0);
    });
  }
});

test('where nothing copies, the text is selected and the button says which key', async () => {
  await withPage(file, {}, async page => {
    await page.evaluate(() => { Object.defineProperty(navigator, 'clipboard', {value: undefined}); document.execCommand = () => false; });
    await page.locator('.remedy button.copy').first().click();
    await page.waitForFunction(() => document.querySelector('button.copy').textContent === 'press Ctrl + C');
    assert.equal((await page.evaluate(() => String(getSelection()))).split('\n').filter(Boolean).join('\n'), (await typed(page))[0]);
  });
});

test('what the page was made of stands at its top: command, GPU, driver and date', async () => {
  await withPage(file, {javaScriptEnabled: false}, async page => {
    assert.match(await page.textContent('.program'), /python3 .*train\.py --stage fps/);
    assert.equal(await page.textContent('.recorded'), 'NVIDIA H200, driver 580.159.04, recorded 2026-11-22 02:55 UTC');
  });
});

test('a moment has an address, and back and forward lead through them', async () => {
  await withPage(file, {}, async page => {
    const opening = await viewOf(page);
    await page.locator('.remedy a.to-timeline').first().click();
    const moment = await viewOf(page);
    assert.match(new URL(page.url()).hash, /^#p0-d0-(idle|copying)-\d+\.\d+$/);
    await page.click('tbody.cause[data-row="0"] td.what');
    const row = await viewOf(page), hash = new URL(page.url()).hash;
    assert.equal(hash, `#p0-d0-idle-0.${row.chosen.at + 1}`);
    await page.click('.walk button:text("next")');
    assert.notEqual(new URL(page.url()).hash, hash);
    await page.goBack();
    assert.deepEqual((await viewOf(page)).chosen, moment.chosen);
    await page.goBack();
    assert.deepEqual(await viewOf(page), opening);
    await page.goForward();
    assert.deepEqual((await viewOf(page)).chosen, moment.chosen);
    // A stretch by itself.
    await page.click('.tools button:text("+")');
    await page.evaluate(() => { globalThis.copied = []; Object.defineProperty(navigator, 'clipboard', {value: {writeText: async text => copied.push(text)}}); });
    const closer = await viewOf(page);
    await page.click('.tools button:text("link")');
    await page.waitForFunction(() => copied.length === 1);
    const [, begin, end] = new URL(page.url()).hash.match(/^#p0-time-(\d+)-(\d+)$/);
    assert.ok(Math.abs(begin - closer.from) <= 1 && Math.abs(end - closer.to) <= 1);
    assert.deepEqual(await page.evaluate(() => copied), [page.url()]);
  });
});

test('a page that is opened at an address shows that moment, row or change', async () => {
  let spans;
  await withPage(file, {}, async page => {
    await page.click('tbody.cause[data-row="1"] td.what');
    ({spans} = (await viewOf(page)).chosen);
  });
  await withPage(`${file}#p0-d0-idle-1.2`, {}, async page => {
    const {chosen, from, to} = await viewOf(page);
    assert.deepEqual([chosen.row, chosen.at], [1, 1]);
    assert.ok(from <= spans[2] && spans[3] <= to);
  });
  await withPage(`${file}#p0-time-${spans[0]}-${spans[1] + 5000}`, {}, async page => {
    const {from, to, chosen} = await viewOf(page);
    assert.ok(chosen === null && Math.abs(from - spans[0]) <= 1 && Math.abs(to - spans[1] - 5000) <= 1, `${from} ${to}`);
  });
  for (const id of ['p0-d0-idle-2', 'p0-change-3']) {
    await withPage(`${file}#${id}`, {}, async page => {
      const {top, bottom} = await page.evaluate(name => document.getElementById(name).getBoundingClientRect().toJSON(), id);
      assert.ok(top >= 0 && bottom <= 900, `${top} ${bottom}`);
      const link = page.locator(`[id="${id}"] a.anchor`);
      assert.equal(await link.getAttribute('href'), `#${id}`);
      assert.match(await link.getAttribute('aria-label'), /^link to this (row|change)$/);
    });
  }
});

test('an address that means nothing does nothing', async () => {
  for (const hash of ['nothing', 'p0-d0-idle-999.1', 'p0-d0-idle-0.999999', 'p7-time-1-2', 'p0-time-999999999999999999-1', '%', '<img src=x onerror=alert(1)>', 'timeline-0', 'p0-d0-idle-0.0', '__proto__']) {
    await withPage(`${file}#${hash}`, {}, async page => {
      const {from, to, length} = await viewOf(page);
      assert.ok(from >= 0 && to <= length && to > from, `${hash} ${from} ${to}`);
      assert.equal(await page.locator('img').count(), 0);
    });
  }
});
