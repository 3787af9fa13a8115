// A table of which only the visible rows exist, so that it is as quick with 100,000 rows as with ten.

import { element, number, put } from "./dom.js";

/** Rows above and below the visible ones, so that scrolling shows no gaps. */
const MARGIN = 6;

/**
 * Columns: { title, text(row), value(row)?, kind(row)?, wide, few?, end? }. `value` is what it is sorted by; `kind` makes the
 * cell a mark; `wide` and `few` are widths for CSS, and a column without `few` is left out on a narrow page.
 */
export class Table {
  constructor(place, { label, columns, id, open, empty }) {
    Object.assign(this, { columns, id, open, rows: [], shown: [], active: 0, column: 0, down: false });
    this.pool = [];
    this.head = element("div", { class: "row head", role: "row" }, columns.map((one, index) => this.header(one, index)));
    this.body = element("div", { class: "rows", role: "rowgroup" });
    this.empty = element("p", { class: "empty" }, empty);
    this.node = element("div", { class: "table", role: "grid", "aria-label": label, "aria-colcount": columns.length });
    this.node.style.setProperty("--columns", columns.map((one) => one.wide).join(" "));
    this.node.style.setProperty("--few", columns.filter((one) => one.few).map((one) => one.few).join(" "));
    this.node.append(element("div", { role: "rowgroup" }, this.head), this.body, this.empty);
    this.node.addEventListener("scroll", () => this.draw(), { passive: true });
    this.body.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.node);
    place.append(this.node);
    this.mark();
  }

  header(column, index) {
    const button = element("button", { type: "button", onclick: () => this.sortBy(index) }, column.title);
    return element("div", { class: this.classes(column), role: "columnheader" }, button);
  }

  classes(column) {
    return `cell${column.end ? " end" : ""}${column.few ? "" : " minor"}`;
  }

  sortBy(index) {
    this.down = this.column === index ? !this.down : Boolean(this.columns[index].end);
    this.column = index;
    this.mark();
    this.set(this.rows);
  }

  mark() {
    [...this.head.children].forEach((cell, index) => {
      const sorted = this.down ? "descending" : "ascending";
      if (index === this.column) cell.setAttribute("aria-sort", sorted);
      else cell.removeAttribute("aria-sort");
    });
  }

  /** Shows these rows, sorted. */
  set(rows) {
    const focused = this.shown[this.active];
    const column = this.columns[this.column];
    const value = column.value ?? column.text;
    const way = this.down ? -1 : 1;
    const compare = (one, other) => {
      // A value that is missing comes before each text, and beside 0.
      const [a, b] = [value(one) ?? "", value(other) ?? ""];
      if (a < b) return -way;
      if (a > b) return way;
      return this.id(one) < this.id(other) ? -1 : 1;
    };
    this.rows = rows;
    this.shown = [...rows].sort(compare);
    if (focused) {
      const found = this.shown.findIndex((row) => this.id(row) === this.id(focused));
      this.active = found < 0 ? Math.min(this.active, Math.max(0, this.shown.length - 1)) : found;
    }
    this.node.setAttribute("aria-rowcount", this.shown.length + 1);
    this.empty.hidden = this.shown.length > 0;
    this.draw();
  }

  draw() {
    const height = this.head.offsetHeight;
    if (!height) return;
    this.body.style.height = `${this.shown.length * height}px`;
    const top = Math.max(0, Math.floor(this.node.scrollTop / height) - MARGIN);
    const most = Math.ceil(this.node.clientHeight / height) + 2 * MARGIN;
    const end = Math.min(this.shown.length, top + most);
    while (this.pool.length < Math.min(most, this.shown.length)) this.grow();
    const free = new Set(this.pool);
    const left = [];
    const drawn = new Map(this.pool.filter((one) => one.row).map((one) => [one.index, one]));
    for (let index = top; index < end; index += 1) {
      const one = drawn.get(index);
      if (one && free.delete(one)) this.fill(one, index, height);
      else left.push(index);
    }
    const spare = [...free];
    for (const index of left) this.fill(spare.pop() ?? this.grow(), index, height);
    for (const one of spare) {
      one.row = null;
      one.node.hidden = true;
    }
  }

  grow() {
    const cells = this.columns.map((column) => element("div", { class: this.classes(column), role: "gridcell" }));
    const node = element("div", { class: "row", role: "row", "data-opens": Boolean(this.open) }, cells);
    const one = { node, cells, row: null, index: -1 };
    node.addEventListener("click", () => {
      this.active = one.index;
      if (one.row) this.open?.(one.row);
    });
    node.addEventListener("focus", () => {
      this.active = one.index;
      this.draw();
    });
    this.pool.push(one);
    this.body.append(node);
    return one;
  }

  fill(one, index, height) {
    const row = this.shown[index];
    if (one.index !== index || one.row === null) {
      one.node.hidden = false;
      one.node.style.transform = `translateY(${index * height}px)`;
      one.node.setAttribute("aria-rowindex", index + 2);
    }
    one.node.tabIndex = index === this.active ? 0 : -1;
    one.index = index;
    if (one.row === row) return;
    one.row = row;
    this.columns.forEach((column, place) => {
      const cell = one.cells[place];
      const text = column.text(row);
      put(cell, typeof text === "number" ? number(text) : text);
      cell.title = cell.textContent.length > 24 ? cell.textContent : "";
      const kind = column.kind?.(row);
      cell.classList.toggle("mark", Boolean(kind));
      if (kind) cell.dataset.kind = kind;
    });
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.node.clientHeight / this.head.offsetHeight) - 2);
    const last = this.shown.length - 1;
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key === "Enter" && this.shown[this.active]) {
      this.open?.(this.shown[this.active]);
    } else if (event.key in moves) {
      event.preventDefault();
      this.go(Math.min(last, Math.max(0, this.active + moves[event.key])));
    }
  }

  /** Moves the focus to a row and shows it. */
  go(index) {
    const height = this.head.offsetHeight;
    this.active = index;
    const [top, bottom] = [index * height, (index + 2) * height];
    if (top < this.node.scrollTop) this.node.scrollTop = top;
    else if (bottom > this.node.scrollTop + this.node.clientHeight) this.node.scrollTop = bottom - this.node.clientHeight;
    this.draw();
    this.pool.find((one) => one.row && one.index === index)?.node.focus({ preventScroll: true });
  }
}
