// SPDX-License-Identifier: Apache-2.0
// The page of `synctrace report --html` in a browser: what it says without a script, what its timeline does with one, and that
// names from a trace do nothing.
import assert from 'node:assert/strict';
import {readFileSync, statSync} from 'node:fs';
import {after, before, test} from 'node:test';
import {LOOP, assembled, closeBrowser, folder, golden, openBrowser, pageOf, reportOf, run, synctrace, viewOf, withPage} from './page_case.mjs';

before(openBrowser);
after(closeBrowser);

const loop = pageOf(LOOP);

// The rows of the table of causes as the page shows them, with the exact values behind them.
const rowsOf = (page, kind) => page.$$eval(`tbody.cause[data-kind="${kind}"]`, rows => rows.map(row => ({
  row: +row.dataset.row, device: +row.dataset.device, text: row.querySelector('.what').textContent,
  idle: +row.querySelector('.idle data').value, count: +row.querySelector('.count data').value,
  waited: +(row.querySelector('.waited data')?.value ?? 0), saves: row.querySelector('.saves data')?.value ?? null})));

for (const name of ['torch_loop', 'sync_per_step', 'pageable_async', 'memory_kinds', 'polling', 'graph_replay']) {
  test(`without a script the causes of ${name} are there, with the numbers of the JSON report`, async () => {
    const report = reportOf(golden(name));
    await withPage(pageOf(golden(name)), {javaScriptEnabled: false}, async page => {
      const steps = report.steps.count > 0;
      for (const [kind, key] of [['idle', 'causes'], ['copying', 'copy_only_causes']]) {
        const rows = await rowsOf(page, kind);
        for (const row of rows) {
          const cause = report.devices[row.device][key][row.row];
          assert.equal(row.idle, steps ? cause.idle_in_steps_ns + cause.idle_in_irregular_steps_ns : cause.idle_ns);
          assert.equal(row.count, cause.count);
          assert.equal(row.waited, cause.host_blocked_ns);
          assert.equal(row.saves, cause.saving === null ? null : String(cause.saving.alone_ns));
          assert.ok(row.text.includes(cause.rule ?? '–') && row.text.includes(cause.name), row.text);
          if (cause.line !== null) assert.ok(row.text.includes(`${cause.file.split('/').pop()}:${cause.line}`), row.text);
        }
        const edges = ['startup', 'shutdown', 'capture'];
        const wanted = report.devices.flatMap(device => device[key].filter(cause => !edges.includes(cause.cause) &&
          (!steps || cause.idle_in_steps_ns + cause.idle_in_irregular_steps_ns > 0)));
        assert.equal(rows.length, wanted.length);
      }
      if (report.verdict) assert.ok((await page.textContent('.verdict')).includes(report.verdict));
      assert.ok(await page.isVisible('noscript p, .timeline-place p'));
    });
  });
}

test('a row opens to its stack and histogram without a script', async () => {
  await withPage(loop, {javaScriptEnabled: false}, async page => {
    assert.ok(!await page.isVisible('tbody.cause ol.stack'));
    await page.click('tbody.cause summary');
    assert.ok(await page.isVisible('tbody.cause ol.stack li.own'));
    assert.ok(await page.isVisible('tbody.cause svg.histogram'));
  });
});

test('the policy lets nothing in but the page’s own style and script', () => {
  const [, policy] = readFileSync(loop, 'utf8').match(/Content-Security-Policy" content="([^"]*)"/);
  assert.match(policy, /^default-src 'none'; style-src 'sha256-[^ ']+'; script-src 'sha256-[^ ']+'; base-uri 'none'; form-action 'none'$/);
});

test('a click on a cause zooms to its longest gap, and next and previous walk along them', async () => {
  await withPage(loop, {}, async page => {
    await page.click('tbody.cause[data-row="0"] td.what');
    let view = await viewOf(page);
    assert.ok(view.chosen && view.chosen.row === 0);
    const gap = ({at, spans}) => [spans[2 * at], spans[2 * at + 1]];
    const shown = ({from, to, chosen}) => from <= gap(chosen)[0] && gap(chosen)[1] <= to;
    assert.ok(shown(view) && view.span < view.length / 50);
    // The picture at the middle of the gap has the colour of the cause.
    const [red, green, blue] = await page.evaluate(() => {
      const {view: at, chosen, canvas, ratio, data} = document.querySelector('.timeline-place').timeline;
      const row = data.lanes.find(lane => lane.kind === 'idle').rows[0];
      const x = at.x(chosen.spans[2 * chosen.at + 1]) - 6;
      return [...canvas.getContext('2d').getImageData(Math.round(x * ratio), Math.round((row.y + 3) * ratio), 1, 1).data];
    });
    assert.ok(red > 180 && green < 140 && blue < 160, `${red} ${green} ${blue}`);
    const first = gap(view.chosen);
    await page.click('.walk button:text("next")');
    view = await viewOf(page);
    assert.ok(shown(view) && gap(view.chosen)[0] !== first[0]);
    await page.click('.walk button:text("previous")');
    assert.deepEqual(gap((await viewOf(page)).chosen), first);
    assert.match(await page.textContent('.walk'), /host-compute .*torch_loop\.py:47: gap \d+ of/);
    await page.click('.walk button:text("clear")');
    assert.equal((await viewOf(page)).chosen, null);
  });
});

test('the wheel zooms about the pointer once the picture has the focus, and a drag moves it', async () => {
  await withPage(loop, {}, async page => {
    const canvas = page.locator('canvas.timeline');
    await canvas.scrollIntoViewIfNeeded();
    const box = await canvas.boundingBox();
    const before = await viewOf(page);
    await page.mouse.move(box.x + 700, box.y + 60);
    await page.mouse.wheel(0, -200);
    assert.equal((await viewOf(page)).span, before.span, 'the wheel must scroll the page');
    await canvas.click({position: {x: 700, y: box.height - 2}});
    const anchor = await page.evaluate(() => document.querySelector('.timeline-place').timeline.view.time(700));
    await canvas.hover({position: {x: 700, y: 60}});
    await page.mouse.wheel(0, -200);
    const zoomed = await viewOf(page);
    assert.ok(zoomed.span < before.span * 0.7);
    const after = await page.evaluate(() => document.querySelector('.timeline-place').timeline.view.time(700));
    assert.ok(Math.abs(after - anchor) < zoomed.span / 100);
    const now = await canvas.boundingBox();
    await page.mouse.move(now.x + 700, now.y + 60);
    await page.mouse.down();
    await page.mouse.move(now.x + 500, now.y + 60, {steps: 4});
    await page.mouse.up();
    const moved = await viewOf(page);
    assert.ok(moved.from > zoomed.from && Math.abs(moved.span - zoomed.span) < 1);
  });
});

test('everything can be reached and done with keys', async () => {
  await withPage(loop, {}, async page => {
    let reached = false;
    for (let i = 0; i < 80 && !reached; ++i) {
      await page.keyboard.press('Tab');
      reached = await page.evaluate(() => document.activeElement.matches('canvas.timeline'));
    }
    assert.ok(reached);
    assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), 'none');
    const start = await viewOf(page);
    await page.keyboard.press('w');
    const closer = await viewOf(page);
    assert.ok(Math.abs(closer.span - start.span / 2) < 2);
    await page.keyboard.press('d');
    assert.ok((await viewOf(page)).from > closer.from);
    await page.keyboard.press('a');
    await page.keyboard.press('s');
    assert.ok((await viewOf(page)).span > closer.span);
    await page.keyboard.press('0');
    assert.equal((await viewOf(page)).span, start.length);
    await page.keyboard.press('ArrowDown');
    const lane = (await viewOf(page)).selected.lane;
    assert.equal(lane, 'GPU 0 idle');
    await page.keyboard.press('ArrowRight');
    assert.equal((await viewOf(page)).selected.lane, lane);
    assert.match(await page.textContent('.status'), /GPU idle: .*caused by: /);
    await page.keyboard.press('Enter');
    assert.ok((await viewOf(page)).span < start.length);
    await page.keyboard.press('Escape');
    assert.equal((await viewOf(page)).selected, null);
    await page.keyboard.press('/');
    assert.ok(await page.evaluate(() => document.activeElement.matches('.tools input')));
    await page.focus('button.show');
    await page.keyboard.press('Enter');
    assert.notEqual((await viewOf(page)).chosen, null);
  });
});

test('the pointer over idle time says who is to blame', async () => {
  await withPage(loop, {}, async page => {
    await page.click('tbody.cause[data-row="0"] td.what');
    await viewOf(page);
    const at = await page.evaluate(() => {
      const {view, chosen, data} = document.querySelector('.timeline-place').timeline;
      const row = data.lanes.find(lane => lane.kind === 'idle').rows[0];
      return {x: view.x((chosen.spans[2 * chosen.at] + chosen.spans[2 * chosen.at + 1]) / 2), y: row.y + 5};
    });
    await page.locator('canvas.timeline').hover({position: at});
    assert.match(await page.textContent('.tip'), /GPU idle: host-compute.*caused by: .*torch_loop\.py:47/);
  });
});

test('search finds names and lines, and Enter goes to the next match', async () => {
  await withPage(loop, {}, async page => {
    const search = page.locator('.tools input');
    await search.fill('torch_loop.py:52');
    assert.match(await page.textContent('.found'), /^[\d,]+ slices, /);
    await search.press('Enter');
    const first = await viewOf(page);
    assert.equal(first.selected.lane, 'GPU 0 idle');
    await search.press('Enter');
    assert.notEqual((await viewOf(page)).selected.item, first.selected.item);
    await search.fill('no such thing anywhere');
    assert.equal(await page.textContent('.found'), 'nothing');
  });
});

test('dark and light follow the system, and the switch', async () => {
  const back = page => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const brightness = colour => colour.match(/\d+/g).map(Number).reduce((sum, part) => sum + part, 0);
  for (const colorScheme of ['light', 'dark']) {
    await withPage(loop, {colorScheme}, async page => {
      assert.equal(brightness(await back(page)) > 380, colorScheme === 'light');
      // What to type is told from its ground, and the picture is drawn on the page's.
      const [ground, ink] = await page.evaluate(() => [getComputedStyle(document.querySelector('.type')).backgroundColor, getComputedStyle(document.querySelector('.type code')).color]);
      assert.ok(Math.abs(brightness(ground) - brightness(ink)) > 300, `${ink} on ${ground}`);
      assert.equal(await page.evaluate(() => document.querySelector('.timeline-place').timeline.theme.back), colorScheme === 'light' ? '#fbfbfa' : '#15191c');
      await page.click('button.theme');
      assert.equal(brightness(await back(page)) > 380, colorScheme === 'dark');
      await page.emulateMedia({media: 'print'});
      assert.ok(brightness(await back(page)) > 700);
    });
  }
});

test('a narrow window scrolls down only', async () => {
  for (const file of [loop, pageOf(golden('point_strokes.fps')), pageOf([LOOP, golden('sync_per_step')])]) {
    await withPage(file, {viewport: {width: 390, height: 800}}, async page => {
      await page.evaluate(() => document.querySelectorAll('.remedy details, details.process').forEach(one => { one.open = true; }));
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
      assert.ok(await page.isVisible('tbody.cause .saves'));
    });
  }
});

test('the drawing of stacks widens, and its leaf shows the gaps of the cause', async () => {
  await withPage(loop, {}, async page => {
    const leaf = page.locator('svg.stacks svg[data-cause]').first();
    await leaf.click();
    assert.equal(await leaf.evaluate(node => node.getAttribute('width')), '100%');
    assert.notEqual((await viewOf(page)).chosen, null);
    await page.locator('svg.stacks svg[data-level="0"]').click();
    assert.notEqual(await leaf.evaluate(node => node.getAttribute('width')), '100%');
  });
});

// Names of every kind: markup, quotes, the end of a script, a turn of direction, bytes that are no text, thousands of characters.
const EVIL = String.raw`</script></details><img src=x onerror=hacked=1><script>hacked=1</script>\"'&quot;\xe2\x80\xae{{x}}\xff\x01`;
const HOSTILE = `synctrace-text 1 start_realtime_ns=1700000000000000000 process_id=4711
chunk
schemas
fact key="command_line" value="${EVIL}"
fact key="rank" value="${EVIL}"
fact key="driver_version" value="${EVIL}"
fact key="working_folder" value="/${EVIL}"
context context=1 device=0 null_stream=7
device device=0 name="${EVIL}"
thread thread=4711 name="${EVIL}"
api_name api=33554643 category=14 name="${EVIL}"
api_name api=33554454 category=5 name="${EVIL}"
string id=1 text="${EVIL}"
string id=2 text="${EVIL}"
code id=1 python_version=196608 first_line=3 file="/${EVIL}.py" function="${EVIL}" line_table=""
stack id=1 frames="p1:0"
window time_ns=0 open=1 reason="${EVIL}"
`;

test('names that no honest program has do nothing', async () => {
  const big = String.raw`_Z` + 'N1a'.repeat(5000);  // a text of a trace has 16 KiB at most
  const lines = [];
  for (let i = 0; i < 6; ++i) {
    const at = 1000000 * (i + 1);
    lines.push(`nvtx_push thread=4711 time_ns=${at} text=1`,
               `launch thread=4711 begin_ns=${at + 1000} duration_ns=5000 api=33554643 correlation=${i + 1}`,
               `kernel begin_ns=${at + 10000} duration_ns=300000 context=1 stream=7 correlation=${i + 1} name=${2 + i % 2}`,
               `call thread=4711 begin_ns=${at + 20000} duration_ns=295000 api=33554454 stack=1`, `nvtx_pop thread=4711 time_ns=${at + 900000}`);
  }
  const trace = assembled(`${HOSTILE}string id=3 text="${big}"\n${lines.join('\n')}\n`);
  const file = pageOf(trace);
  assert.ok(statSync(file).size < 200000);
  const text = readFileSync(file, 'utf8');
  assert.ok(!text.includes('\u202e') && !text.includes('<img'));
  assert.equal(text.match(/<script/g).length, 2);
  await withPage(file, {}, async page => {
    assert.equal(await page.evaluate(() => typeof hacked), 'undefined');
    assert.equal(await page.locator('img').count(), 0);
    assert.ok(await page.locator('tbody.cause').count() > 0);
    const box = await page.locator('canvas.timeline').boundingBox();
    for (let y = 30; y < box.height; y += 8) await page.mouse.move(box.x + 700, box.y + y);
    // The head, what is copied, ticks and addresses have such names, too.
    assert.match(await page.textContent('.recorded'), /driver <\/script>/);
    assert.ok(await page.locator('.remedy').count() > 0);
    await page.evaluate(() => { globalThis.copied = []; Object.defineProperty(navigator, 'clipboard', {value: {writeText: async words => copied.push(words)}}); });
    for (const kind of ['.copy', '.switch', '.show', '.anchor']) for (const one of await page.locator(`main ${kind}`).all()) await one.click();
    for (const words of await page.evaluate(() => copied)) assert.doesNotMatch(words, /[\u0000-\u0009\u000b-\u001f\u202e]/u);
    assert.equal(await page.evaluate(() => typeof hacked), 'undefined');
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  });
});

test('a large trace keeps to the size that was asked for, and says what was left out', async () => {
  const trace = `${folder}/large.synctrace`;
  run(process.env.TRAINING_TRACE, '400000', trace);
  const file = pageOf(trace, '--max-html-size', '500k');
  const {size} = statSync(file);
  assert.ok(size <= 500000 && size > 250000, `${size} bytes`);
  await withPage(file, {}, async page => {
    assert.match(await page.textContent('.left-out'), /slices; [\d,]+ items stand for them/);
    const sums = await page.evaluate(() => document.querySelector('.timeline-place').timeline.data.lanes.flatMap(lane => lane.rows.map(row =>
      ({said: row.busy_ns, kept: row.busy.reduce((sum, ns) => sum + ns, 0), slices: row.slices, counted: row.count.reduce((sum, one) => sum + one, 0)}))));
    for (const {said, kept, slices, counted} of sums) {
      assert.equal(kept, said);
      assert.equal(counted, slices);
    }
  });
});
