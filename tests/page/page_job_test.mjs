// SPDX-License-Identifier: Apache-2.0
// The page of a job of several ranks, in a browser: what stands first, one axis for all ranks, what it opens on, the way from a change to the
// timeline, and from a rank that waits to the one that it waits for.
import assert from 'node:assert/strict';
import path from 'node:path';
import {after, before, test} from 'node:test';
import {closeBrowser, folder, openBrowser, pageOf, run, synctrace, viewOf, withPage} from './page_case.mjs';

const RANKS = 2;
let file, job;

before(async () => {
  await openBrowser();
  run(process.env.GENERATED_JOB, folder, RANKS, 30, 6);  // rank 1 is late; the clocks are seconds apart and drift
  const traces = [...Array(RANKS).keys()].map(rank => path.join(folder, `rank-${rank}.synctrace`));
  file = pageOf(traces);
  job = JSON.parse(synctrace('report', '--no-symbols', '--format', 'json', ...traces));
});
after(closeBrowser);

// The rows of what the ranks do together: [rank, [begin, end, kind, rank waited for]...].
const exchanges = page => page.evaluate(() => {
  const {data} = document.querySelector('.timeline-place').timeline;
  return data.groups.map(({rank, lanes}) => {
    const [row] = lanes.find(lane => lane.kind === 'exchange').rows;
    return [rank, [...row.begin.keys()].filter(i => row.count[i] === 1).map(i => [row.begin[i], row.end[i], data.names[row.name[i]][0], data.names[row.name[i]][2]])];
  });
});

test('ranks stand first, then what binds the job, what to change, the timeline, and each rank by itself', async () => {
  await withPage(file, {}, async page => {
    const parts = ['table.ranks', '.verdict', '.changes', '.remedy .type, .remedy .place', 'canvas.timeline', 'section.process'];
    const at = await page.evaluate(all => all.map(part => [...document.querySelectorAll('main *')].indexOf(document.querySelector(`main ${part}`))), parts);
    assert.ok(at.every(place => place >= 0), at.join(' '));
    assert.deepEqual(at, [...at].sort((a, b) => a - b), at.join(' '));
    assert.match(await page.textContent('.verdict'), /RANK 1 HOLDS UP RANK 0/);
    const rows = await page.$$eval('table.ranks tbody tr', all => all.map(row => [row.cells[0].textContent, +(row.querySelector('.waiting data')?.value ?? 0)]));
    assert.deepEqual(rows, job.ranks.map(({rank, steps, devices: [{in_steps}]}) => [rank, Math.trunc(in_steps.waiting_ns / steps)]));
    const [first] = job.job.causes;
    assert.equal(+await page.locator('.remedy .saves data').first().getAttribute('value'), first.saving.ns);
    assert.ok((await page.locator('.remedy .place').first().textContent()).includes(`train.py:${first.line}`));
    assert.ok(!await page.isVisible('section.process tbody.cause'));
    await page.locator('table.ranks a').first().click();
    assert.ok(await page.isVisible('#process-0 tbody.cause'));
  });
});

test('a job says when it was recorded; its change has an address and a button, and its moments have addresses on the rank\u2019s clock', async () => {
  await withPage(file, {}, async page => {
    assert.match(await page.textContent('.recorded'), /recorded \d{4}-\d\d-\d\d \d\d:\d\d UTC$/);
    const change = page.locator('#job-change-1');
    assert.equal(await change.locator('a.anchor').getAttribute('href'), '#job-change-1');
    await page.evaluate(() => { globalThis.copied = []; Object.defineProperty(navigator, 'clipboard', {value: {writeText: async text => copied.push(text)}}); });
    await change.locator('button.copy').click();
    await page.waitForFunction(() => copied.length === 1);
    assert.deepEqual(await page.evaluate(() => copied), [job.job.causes[0].to_type.join('\n')]);
    await page.click('.tools button:text("link")');
    await page.waitForFunction(() => copied.length === 2);
    const [, begin, end] = new URL(page.url()).hash.match(/^#p1-time-(\d+)-(\d+)$/).map(Number);
    const shown = await viewOf(page);
    const [from, to] = await page.evaluate(times => { const {on} = document.querySelector('.timeline-place').timeline.data.groups.find(({process}) => process === 1); return times.map(on); }, [begin, end]);
    assert.ok(Math.abs(from - shown.from) <= 2 && Math.abs(to - shown.to) <= 2, `${from} ${shown.from}`);
    // One change alone has no tick: there is nothing to choose from.
    assert.equal(await page.locator('.changes:not(section.process .changes) input.switch').count(), 0);
  });
});

test('all ranks are on one axis, and leave an operation together', async () => {
  await withPage(file, {}, async page => {
    assert.equal(await page.locator('canvas.timeline').count(), 1);
    assert.match(await page.textContent('section.timeline'), /One axis: the clocks of these 2 ranks are aligned/);
    const [[zero, first], [one, second]] = await exchanges(page);
    assert.deepEqual([zero, one], ['0', '1']);
    const ends = parts => parts.filter(part => part[2] === 'transfer').map(part => part[1]);
    assert.ok(ends(first).length > 60);
    assert.equal(ends(first).length, ends(second).length);
    ends(first).forEach((end, i) => assert.ok(Math.abs(end - ends(second)[i]) < 20000, `${end} ${ends(second)[i]}`));
    const waited = first.filter(part => part[2] === 'rank-wait');
    assert.ok(waited.length >= 30 && waited.every(part => part[3] === '1'));
  });
});

test('it opens on two or three typical steps, in which every slice of all ranks is kept', async () => {
  await withPage(file, {}, async page => {
    const view = await viewOf(page);
    const [{step_mean_ns: step}] = job.ranks;
    assert.ok(view.span > 1.5 * step && view.span < 5 * step, `${view.span} of ${step}`);
    const bundled = await page.evaluate(({from, to}) => document.querySelector('.timeline-place').timeline.data.lanes.flatMap(lane => lane.rows)
      .reduce((sum, row) => sum + [...row.begin.keys()].filter(i => row.end[i] > from && row.begin[i] < to && row.count[i] > 1).length, 0), view);
    assert.equal(bundled, 0);
  });
});

test('a change leads to where the late rank loses its time', async () => {
  await withPage(file, {}, async page => {
    const before = await viewOf(page);
    await page.locator('.remedy a.to-timeline').first().click();
    const view = await viewOf(page);
    assert.notDeepEqual([view.from, view.to], [before.from, before.to]);
    const {spans, at} = view.chosen;
    const late = (await exchanges(page))[0][1].filter(([begin, end, kind]) => kind === 'rank-wait' && begin < spans[2 * at + 1] && end > spans[2 * at]);
    assert.ok(late.length > 0, 'nobody waits while the line runs');
    assert.ok(await page.evaluate(() => { const {top, bottom} = document.querySelector('canvas.timeline').getBoundingClientRect(); return top < innerHeight && bottom > 0; }));
  });
});

for (const colorScheme of ['light', 'dark']) {
  test(`a waiting slice points at the rank that it waits for, in ${colorScheme} colours`, async () => {
    await withPage(file, {colorScheme}, async page => {
      const [x, y, top, bottom, width] = await page.evaluate(() => {
        const {data, view} = document.querySelector('.timeline-place').timeline;
        const rows = data.groups.map(({lanes}) => lanes.find(lane => lane.kind === 'exchange').rows[0]);
        const [row] = rows;
        const item = [...row.begin.keys()].find(i => data.names[row.name[i]][0] === 'rank-wait' && row.begin[i] > view.from && row.end[i] < view.to);
        const ends = rows.map(one => one.y + one.height / 2).sort((a, b) => a - b);
        return [view.x(row.end[item]), row.y + row.height / 2, ...ends, (row.end[item] - row.begin[item]) * view.scale];
      });
      const canvas = page.locator('canvas.timeline');
      await canvas.scrollIntoViewIfNeeded();
      await canvas.hover({position: {x: x - width / 2, y}});
      await viewOf(page);
      const [accent, colours] = await page.evaluate(([at, from, to]) => {
        const {canvas, ratio, theme} = document.querySelector('.timeline-place').timeline;
        const pixels = canvas.getContext('2d').getImageData(Math.round(at * ratio), Math.round(from * ratio), 1, Math.round((to - from) * ratio)).data;
        return [theme.accent.match(/[0-9a-f]{2}/g).map(part => parseInt(part, 16)).join(), [...Array(pixels.length / 4).keys()].map(i => pixels.slice(4 * i, 4 * i + 3).join())];
      }, [x, top + 2, bottom - 10]);
      assert.ok(colours.filter(one => one === accent).length > 0.95 * colours.length, `${accent}: ${colours.slice(0, 9)}`);  // a line between ranks is drawn over it
      assert.match(await page.textContent('.tip'), /waits for rank 1.*in AllReduce/);
      await canvas.click({position: {x: x - width / 2, y}});
      assert.match(await page.textContent('.status'), /waits for rank 1/);
      const [back] = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number));
      assert.equal(back < 128, colorScheme === 'dark');
    });
  });
}

test('the page of one rank says whom it waits for', async () => {
  const alone = pageOf([0, 1].map(rank => path.join(folder, `rank-${rank}.synctrace`)), '--rank', '0');
  await withPage(alone, {}, async page => {
    assert.match(await page.textContent('header'), /In its job of 2 ranks it waits .* for rank 1/);
    const [[, parts]] = await exchanges(page);
    assert.ok(parts.some(part => part[2] === 'rank-wait'));
  });
});
