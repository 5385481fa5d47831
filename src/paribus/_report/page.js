// Convenience only: sortable tables, a search for features by name, and panels that open by links.
(() => {
  "use strict";
  const number = (text) => {
    const found = text.replace(/,/g, "").match(/^(-?\d[\d.]*(?:e[+-]?\d+)?)/i);
    return found ? parseFloat(found[1]) : NaN;
  };
  const compare = (one, two) => {
    const a = number(one), b = number(two);
    if (isNaN(a) && isNaN(b)) return one.localeCompare(two);
    return isNaN(a) ? 1 : isNaN(b) ? -1 : a - b;
  };
  const sort = (table, place, head) => {
    const down = head.getAttribute("aria-sort") === "ascending";
    table.querySelectorAll("thead th").forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = Array.from(table.tBodies[0].rows, (row) => [row.cells[place].textContent.trim(), row]);
    rows.sort((one, two) => (down ? -1 : 1) * compare(one[0], two[0]));
    table.tBodies[0].append(...rows.map((row) => row[1]));
  };
  document.querySelectorAll("table.sortable").forEach((table) => {
    const first = table.tBodies[0].rows[0];
    table.querySelectorAll("thead th").forEach((head, place) => {
      if (!first || !first.cells[place].textContent.trim()) return; // images have no order
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, place, head));
      head.append(button);
    });
  });
  const panels = Array.from(document.querySelectorAll("#features > .panel"));
  const reveal = () => {
    const target = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
    for (let part = target; part; part = part.parentElement) {
      if (part.tagName === "DETAILS") part.open = true;
    }
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();
  if (panels.length > 1) {
    const tools = document.createElement("div");
    tools.className = "tools";
    const label = document.createElement("label");
    label.append("Show features whose name contains ", document.createElement("br"));
    const input = document.createElement("input");
    input.type = "search";
    const status = document.createElement("span");
    status.setAttribute("role", "status");
    label.append(input);
    input.addEventListener("input", () => {
      const wanted = input.value.toLocaleLowerCase();
      let shown = 0;
      panels.forEach((panel) => {
        const fits = panel.querySelector("h3").textContent.toLocaleLowerCase().includes(wanted);
        panel.hidden = !fits;
        shown += fits;
      });
      status.textContent = `${shown} of ${panels.length} features`;
    });
    tools.append(label);
    for (const [text, open] of [["Open all", true], ["Close all", false]]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.addEventListener("click", () => panels.forEach((panel) => { if (!panel.hidden) panel.open = open; }));
      tools.append(button);
    }
    tools.append(status);
    panels[0].before(tools);
  }
})();
