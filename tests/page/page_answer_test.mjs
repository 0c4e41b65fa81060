// SPDX-License-Identifier: Apache-2.0
// The answer at the top of the page of `synctrace report --html`, in a browser: its order and words, the links from a change into the
// timeline, what the timeline opens on, and several processes on one axis.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {LOOP, assembled, closeBrowser, golden, openBrowser, pageOf, reportOf, run, synctrace, viewOf, withPage} from './page_case.mjs';

before(openBrowser);
after(closeBrowser);

test('what is read first stands first', async () => {
  for (const name of ['point_strokes.fps', 'cifar_resnet.baseline']) {
    await withPage(pageOf(golden(name)), {}, async page => {
      const parts = ['.verdict', '.tiles', 'figure.step svg.bar', '.changes', '.remedy .type', 'canvas.timeline', 'figure.device', 'tbody.cause', 'svg.stacks', 'table.fixes', '.losses', '.foot'];
      const at = await page.evaluate(all => all.map(part => [...document.querySelectorAll('main *')].indexOf(document.querySelector(`main ${part}`))), parts);
      const present = at.filter(place => place >= 0);
      assert.deepEqual(present, [...present].sort((a, b) => a - b), at.join(' '));
      assert.ok(present.length >= parts.length - 1, at.join(' '));  // not every run has notes
      const tables = await page.$$eval('details.table', all => all.map(one => one.open));
      assert.ok(tables.length > 3 && !tables.includes(true));
    });
  }
});

test('the changes are those of the report, with what to type, and the bar is of one step', async () => {
  const trace = golden('point_strokes.fps');
  const screen = synctrace('report', '--no-symbols', trace);
  await withPage(pageOf(trace), {javaScriptEnabled: false}, async page => {
    const changes = await page.$$eval('.remedy', all => all.map(one => ({title: one.querySelector('h4').textContent, saves: one.querySelector('.saves data').textContent,
      type: [...one.querySelectorAll('.type code')].map(code => code.textContent), place: one.querySelector('.place').textContent})));
    assert.ok(changes.length > 0);
    for (const {title, saves, type, place} of changes.slice(0, 2)) {
      for (const words of [title.slice(0, 40), saves, ...type.map(line => line.slice(0, 50)), place.split('/').pop()]) assert.ok(screen.includes(words), `${words}\n${screen}`);
    }
    const shares = await page.$$eval('figure.step .bar:not(.possible) rect', all => all.map(one => parseFloat(one.getAttribute('width'))));
    assert.ok(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 100) < 0.1);
    const key = await page.textContent('.key');
    for (const [, part] of screen.match(/one step .*/)[0].matchAll(/ ([a-z ]+? \d+ %)/g)) assert.ok(part.trim().startsWith('other') || key.includes(part.trim()), `${part} in ${key}`);
  });
});

test('a change opens to what its rule means, in the words of explain', async () => {
  const trace = golden('point_strokes.fps');
  await withPage(pageOf(trace), {javaScriptEnabled: false}, async page => {
    const [name] = (await page.textContent('.remedy .rule')).split(' ');
    const said = synctrace('explain', name).replace(/\s+/g, ' ');
    await page.click('.remedy .rule-text summary');
    assert.ok(await page.isVisible('.remedy .rule-text pre'));
    const parts = await page.$$eval('.remedy:first-child .rule-text > p:not(.framework), .remedy:first-child .rule-text pre', all => all.map(one => one.textContent));
    assert.ok(parts.length >= 8);
    for (const part of parts) {
      const words = part.replace(/^(Recognised|What to write instead|When it is fine)\. /, '').replace(/\s+/g, ' ').trim();
      assert.ok(said.replaceAll('`', '').includes(words), `${words}\n${said}`);
    }
  });
});

test('words that no engineer uses are nowhere', async () => {
  for (const name of ['torch_loop', 'point_strokes.fps', 'polling']) {
    await withPage(pageOf(golden(name)), {}, async page => {
      await page.evaluate(() => document.querySelectorAll('details').forEach(one => { one.open = true; }));
      const heads = await page.$$eval('h2, h3, th, dt, summary', all => all.map(one => one.textContent).join('\n'));
      assert.doesNotMatch(heads, /\b(mend|told|sure|added|dearer|times|blame)\b/);
    });
  }
});

// The steps that are wholly in view.
const stepsIn = (page, {from, to}) => page.evaluate(([begin, end]) => {
  const [row] = document.querySelector('.timeline-place').timeline.data.lanes.find(lane => lane.kind === 'steps').rows;
  return [...row.begin.keys()].filter(i => row.begin[i] >= begin && row.end[i] <= end).reduce((sum, i) => sum + row.count[i], 0);
}, [from, to]);

test('the timeline opens on two or three typical steps, and comes back to them', async () => {
  for (const name of ['torch_loop', 'point_strokes.fps', 'cifar_resnet.baseline']) {
    const {steps} = reportOf(golden(name));
    await withPage(pageOf(golden(name)), {}, async page => {
      const view = await viewOf(page);
      const count = await stepsIn(page, view);
      assert.ok(count >= 2 && count <= 4, `${count} steps of ${name}`);  // the fourth begins while the work of the third ends
      assert.ok(view.span < 6 * steps.p50_ns, `${view.span} ns of steps of ${steps.p50_ns}`);
      await page.click('.tools button:text("all")');
      assert.equal((await viewOf(page)).span, view.length);
      await page.click('.tools button:text("steps")');
      assert.deepEqual(await viewOf(page), view);
    });
  }
});

test('a change leads to a typical moment of its line on the timeline', async () => {
  const trace = golden('point_strokes.fps');
  const [{devices}] = [reportOf(trace)];
  await withPage(pageOf(trace), {}, async page => {
    const before = await viewOf(page);
    const link = page.locator('.remedy a.to-timeline').first();
    const place = await page.locator('.remedy', {has: page.locator('a.to-timeline')}).first().locator('.place').first().textContent();
    await link.click();
    const view = await viewOf(page);
    assert.notDeepEqual([view.from, view.to], [before.from, before.to]);
    const {device, kind, row, spans, at} = view.chosen;
    const cause = devices[device][kind === 'idle' ? 'causes' : 'copy_only_causes'][row];
    assert.equal(`${cause.file.split('/').pop()}:${cause.line}`, place.split('/').pop());
    const [begin, end] = [spans[2 * at], spans[2 * at + 1]];
    assert.ok(view.from <= begin && end <= view.to && view.span <= 20.5 * (end - begin), `${begin} to ${end} in ${view.from} to ${view.to}`);
    // Typical: not the longest, not the shortest, where there are different ones.
    const lengths = spans.filter((_, i) => i % 2).map((time, i) => time - spans[2 * i]);
    assert.ok(end - begin < Math.max(...lengths) && end - begin > Math.min(...lengths));
    assert.ok(await page.evaluate(() => { const {top, bottom} = document.querySelector('canvas.timeline').getBoundingClientRect(); return top < innerHeight && bottom > 0; }));
    assert.equal(new URL(page.url()).hash, `#p0-d${device}-${kind}-${row}.${at + 1}`);
  });
});

// A process that computes for a part of each of its steps, 1 ms each.
const processOf = ({rank, host = 'node1', boot = 1700000000000000000, begin, steps = 12}) => {
  const lines = [`synctrace-text 1 start_realtime_ns=${boot + begin} process_id=${4000 + rank}`, 'chunk', 'schemas', `fact key="command_line" value="train.py"`,
    `fact key="rank" value="${rank}"`, `fact key="host" value="${host}"`, `clock monotonic_ns=${begin} realtime_ns=${BigInt(boot) + BigInt(begin)}`,
    'context context=1 device=0 null_stream=7', 'device device=0 name="GPU"', `thread thread=${4000 + rank} name="main"`,
    'string id=1 text="step"', 'string id=2 text="work"', `window time_ns=${begin} open=1 reason="start"`];
  for (let i = 0; i < steps; ++i) {
    const at = begin + 1000000 * i, thread = 4000 + rank;
    lines.push(`nvtx_push thread=${thread} time_ns=${at} text=1`, `launch thread=${thread} begin_ns=${at + 1000} duration_ns=5000 api=33554643 correlation=${i + 1}`,
      `kernel begin_ns=${at + 10000} duration_ns=300000 context=1 stream=7 correlation=${i + 1} name=2`,
      `call thread=${thread} begin_ns=${at + 20000} duration_ns=295000 api=33554454`, `nvtx_pop thread=${thread} time_ns=${at + 900000}`);
  }
  return assembled(`${lines.join('\n')}\n`);
};

test('processes of one host at one time are on one axis', async () => {
  const late = 2500000;  // the second rank begins two steps and a half later
  const file = pageOf([processOf({rank: 0, begin: 5000000000}), processOf({rank: 1, begin: 5000000000 + late})]);
  await withPage(file, {}, async page => {
    assert.equal(await page.locator('section.overview tbody tr').count(), 2);
    assert.equal(await page.locator('canvas.timeline').count(), 1);
    assert.match(await page.textContent('section.timeline'), /One axis: these 2 processes share the clock of node1\./);
    const kernels = await page.evaluate(() => {
      const {data} = document.querySelector('.timeline-place').timeline;
      return data.groups.map(({lanes}) => { const [row] = lanes.find(lane => lane.kind === 'stream').rows; return [row.begin[0], data.names[row.name[0]].join(' ')]; });
    });
    assert.equal(kernels[1][0] - kernels[0][0], late);
    assert.equal(kernels[1][1], kernels[0][1]);
    // The host's threads unfold.
    const height = async () => (await page.locator('canvas.timeline').boundingBox()).height;
    const folded = await height();
    await page.locator('button.fold').nth(1).click();
    assert.ok(await height() > folded);
    // The causes of each process are found on it.
    for (const process of [0, 1]) {
      await page.evaluate(number => document.querySelectorAll(`[data-process="${number}"] > details`).forEach(one => { one.open = true; }), process);
      await page.locator(`#process-${process}-rest tbody.cause td.what`).first().click();
      const {chosen, from, to} = await viewOf(page);
      assert.equal(chosen.device, process);
      assert.ok(from <= chosen.spans[2 * chosen.at] && chosen.spans[2 * chosen.at + 1] <= to);
      assert.ok(process === 0 || chosen.spans[0] >= late);
    }
  });
});

test('processes of other hosts, of another start and of another time have an axis of their own, and why', async () => {
  const begin = 5000000000;
  const others = [{host: 'node2', says: /another host \(node2\), whose clock cannot be compared/}, {boot: 1700005000000000000, says: /clock of node1 counted from another start/},
    {begin: begin + 3600000000000, says: /recorded at another time/}];
  for (const {says, ...other} of others) {
    await withPage(pageOf([processOf({rank: 0, begin}), processOf({rank: 1, begin, ...other})]), {}, async page => {
      assert.equal(await page.locator('canvas.timeline').count(), 2);
      assert.match(await page.locator('section.timeline').nth(1).textContent(), says);
      assert.equal((await viewOf(page)).length, (await viewOf(page, 'section.timeline:nth-of-type(n+4) .timeline-place')).length);
    });
  }
});

test('of two processes the one that lacked most work is open, and the table leads to the other', async () => {
  const file = pageOf([LOOP, golden('sync_per_step')]);
  await withPage(file, {}, async page => {
    const opened = () => page.$$eval('section.process > details', all => all.map(one => one.open));
    const before = await opened();
    assert.deepEqual(before.slice(0, 2), before.slice(2));
    assert.equal(before.filter(Boolean).length, 2);
    const other = before.indexOf(false);
    await page.locator('.overview a').nth(other).click();
    assert.ok((await opened()).every(Boolean));
    await page.locator(`#process-${other}-rest tbody.cause td.what`).first().click();
    const chosen = await page.$$eval('.timeline-place', all => all.map(place => place.timeline.chosen !== null));
    assert.deepEqual(chosen, [other === 0, other === 1]);
  });
});
