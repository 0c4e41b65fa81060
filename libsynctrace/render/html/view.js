// SPDX-License-Identifier: Apache-2.0
// Which stretch of time is shown. Changes are smooth where the reader has not asked for less motion.

const GUTTER = 168;
const SHORTEST_VIEW = 200;  // ns

class View {
  constructor(length, changed) {
    this.length = Math.max(length, SHORTEST_VIEW);
    this.from = 0;
    this.to = this.length;
    this.width = 1;
    this.changed = changed;
  }
  get span() { return this.to - this.from; }
  get scale() { return (this.width - GUTTER) / this.span; }
  x(time) { return GUTTER + (time - this.from) * this.scale; }
  time(x) { return this.from + (x - GUTTER) / this.scale; }

  set(from, to) {
    const span = clamp(to - from, SHORTEST_VIEW, this.length);
    this.from = clamp(from, 0, this.length - span);
    this.to = this.from + span;
    this.changed();
  }
  zoom(factor, around) {
    cancelAnimationFrame(this.motion);
    this.set(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }
  pan(share) {
    cancelAnimationFrame(this.motion);
    this.set(this.from + share * this.span, this.to + share * this.span);
  }
  glide(from, to) {
    cancelAnimationFrame(this.motion);
    const margin = SHORTEST_VIEW / 2;
    const goal = [clamp(from, 0, this.length - margin), clamp(to, margin, this.length)];
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return this.set(...goal);
    const start = [this.from, this.to], began = performance.now();
    const move = now => {
      const part = Math.min((now - began) / 220, 1), eased = 1 - (1 - part) ** 3;
      this.set(start[0] + (goal[0] - start[0]) * eased, start[1] + (goal[1] - start[1]) * eased);
      if (part < 1) this.motion = requestAnimationFrame(move);
    };
    this.motion = requestAnimationFrame(move);
  }
  // Shows a stretch with some of what is around it.
  show(begin, end) {
    const around = Math.max(end - begin, 2000);
    this.glide(begin - around, end + around);
  }
  contains(begin, end) { return begin >= this.from && end <= this.to; }
}
