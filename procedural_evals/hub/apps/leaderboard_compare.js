// The leaderboard's page: two rows compared, and the start.

const choose = (entry, picked) => {
  chosen = picked ? [...chosen, entry].slice(-2) : chosen.filter((each) => each !== entry);
  draw(`[data-id="${CSS.escape(entry.id)}"] input`);
};

const bar = () =>
  chosen.length > 0 && h("div", { class: "choice", role: "region", "aria-label": "Comparison" },
    h("span", {}, chosen.length === 2
      ? `${chosen[0].model} against ${chosen[1].model}`
      : `${chosen[0].model} against …: tick a second row`),
    h("button", { type: "button", class: "primary", disabled: chosen.length < 2, onclick: compare }, "Compare"),
    h("button", { type: "button", class: "plain", onclick: () => { chosen = []; draw(); } }, "Clear"));

const compare = async () => {
  const [a, b] = chosen;
  const [metric] = plotted().split(":");
  const dialog = h("dialog", { class: "comparison", "aria-label": "Comparison", onclose: (event) => event.target.remove() },
    h("p", { role: "status" }, "Pairing the items …"));
  root.append(dialog);
  dialog.showModal();
  let found;
  try {
    found = await server.compare({ a: a.id, b: b.id, metric });
  } catch (error) {
    found = { error: `The comparison failed: ${error.message ?? error}` };
  }
  dialog.replaceChildren(...comparison(found, a, b, dialog).filter(Boolean));
  dialog.querySelector("button").focus();
};

const side = (letter, entry) =>
  h("div", { class: "side" }, h("b", {}, letter), h("span", {}, entry.model), h("small", {}, `${variant(entry)}, ${day(entry.date)}`));

const comparison = (found, a, b, dialog) => {
  const close = h("button", { type: "button", class: "plain close", onclick: () => dialog.close() }, "Close");
  const sides = h("div", { class: "sides" }, side("A", a), side("B", b));
  if (found.error) return [close, h("h3", {}, "No comparison"), sides, h("p", { class: "warn", role: "alert" }, found.error)];
  const digits = 2;
  const reach = Math.max(...[found.low, found.high, found.difference, 1e-9].map(Math.abs)) * 1.15;
  const line = plot([found.difference, found.low, found.high], [-reach, reach], 0, "difference");
  return [
    close,
    h("h3", {}, `${found.metric[0].toUpperCase()}${found.metric.slice(1)}: B − A`),
    sides,
    found.warnings.map((text) => h("p", { class: "warn", role: "alert" }, text)),
    h("p", { class: "big" }, `${found.difference > 0 ? "+" : ""}${number(found.difference, digits)}`,
      found.low != null && h("small", {}, ` 95 % interval ${number(found.low, digits)} to ${number(found.high, digits)}`)),
    line,
    h("p", {}, found.words),
    h("ul", { class: "facts" }, found.facts.map((text) => h("li", {}, text))),
    found.flips.length > 0 && h("h4", {}, found.flips.length < found.flipped
      ? `${found.flips.length} of the ${found.flipped} items that one gets better than the other`
      : "Items that one gets better than the other"),
    found.flips.length > 0 && h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Items that differ" },
      h("table", { class: "flips" },
        h("thead", {}, h("tr", {}, ["Item", "A", "A’s reply", "B", "B’s reply"].map((text) => h("th", { scope: "col", class: text.length === 1 && "number" }, text)))),
        h("tbody", {}, found.flips.map((flip) => h("tr", {},
          h("th", { scope: "row" }, flip.id),
          h("td", { class: "number" }, brief(flip.a)), h("td", { class: "reply" }, flip.reply_a),
          h("td", { class: "number" }, brief(flip.b)), h("td", { class: "reply" }, flip.reply_b)))))),
  ].flat();
};

// ---------------------------------------------------------------- start

root.replaceChildren(h("p", { class: "empty", role: "status" }, "Reading the results …"));
server.boards(null).then((found) => {
  data = found;
  open(decodeURIComponent(location.hash.slice(1)));
}).catch((error) => {
  root.replaceChildren(h("p", { class: "empty warn", role: "alert" },
    `The results could not be read: ${error.message ?? error}. Reload the page to try again.`));
});
