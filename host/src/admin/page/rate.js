// How fast a counter grows: a number, and a line over the last two minutes.

import { number, put } from "./dom.js";

const SECONDS = 120;
const [WIDTH, HEIGHT] = [360, 64];

function svg(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

export class Rate {
  constructor(place, output) {
    this.output = output;
    this.rates = [];
    this.last = null;
    this.picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    this.area = svg("path", { class: "area" });
    this.line = svg("path", { class: "line" });
    this.picture.append(this.area, this.line);
    place.append(this.picture);
    setInterval(() => this.tick(), 1000);
  }

  /** Notes the counter. A smaller one is of another process. */
  note(count) {
    this.count = count;
    if (this.last === null || count < this.last.count) this.last = { count, at: performance.now() };
  }

  tick() {
    if (this.last === null) return;
    const now = performance.now();
    // A timer of a page that was not visible is late.
    this.rates.push(((this.count - this.last.count) * 1000) / Math.max(1, now - this.last.at));
    this.last = { count: this.count, at: now };
    this.rates = this.rates.slice(-SECONDS);
    this.draw();
  }

  draw() {
    if (this.output.offsetParent === null) return;
    const most = Math.max(1, ...this.rates);
    const newest = this.rates.at(-1) ?? 0;
    put(this.output, newest > 0 && newest < 10 ? newest.toFixed(1) : number(Math.round(newest)));
    const first = SECONDS - this.rates.length;
    const x = (index) => (((first + index) * WIDTH) / (SECONDS - 1)).toFixed(1);
    const points = this.rates.map((rate, index) => `${x(index)} ${(HEIGHT - 2 - (rate / most) * (HEIGHT - 6)).toFixed(1)}`);
    this.line.setAttribute("d", points.length > 1 ? `M${points.join("L")}` : "");
    this.area.setAttribute("d", points.length > 1 ? `M${x(0)} ${HEIGHT}L${points.join("L")}L${WIDTH} ${HEIGHT}Z` : "");
  }
}
