// The list of cases: filters live in the address, rows are made when they are needed.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const [form, list, found, more] = ["form.filters", ".list", ".found", ".more"].map((x) => document.querySelector(x));
  const words = new Set(data.words);
  const STEP = 50;
  const number = (count) => count.toLocaleString("en");
  let matching = [];
  let shown = 0;

  function at(name, index) {
    const value = data.columns[name]?.[index];
    return words.has(name) ? data.strings[value ?? 0] : value;
  }
  const idOf = (index) => data.ids[index].map((place) => data.strings[place]).join("/");

  const texts = [];
  function textOf(index) {
    const told = () => [idOf(index), ...["backend", data.face, "reason", "cause", "detail", "finding", "where"].map((x) => at(x, index))];
    return (texts[index] ??= told().join("\n").toLowerCase());
  }

  // A case answers to a value in any column of its facet: "layout/*" and "layout/offset-1" are both checks.
  function matches(filters) {
    const wanted = Object.entries(filters).filter(([name]) => name !== "text").map(([name, value]) =>
      [data.facets[name] || [name], data.strings.indexOf(value)]);
    const parts = (filters.text || "").toLowerCase().split(/\s+/).filter(Boolean);
    return (index) =>
      wanted.every(([names, place]) => names.some((name) => place > 0 && data.columns[name]?.[index] === place)) &&
      parts.every((part) => textOf(index).includes(part));
  }

  function filtersInAddress() {
    const known = [...form.elements].map((control) => control.name).filter(Boolean);
    const given = [...new URLSearchParams(location.hash.slice(1))];
    return Object.fromEntries(given.filter(([name, value]) => value && known.includes(name)));
  }

  function apply() {
    const filters = filtersInAddress();
    for (const control of form.elements) {
      if (!control.name) continue;
      const value = filters[control.name] || "";
      if (control.options && ![...control.options].some((option) => option.value === value)) control.append(new Option(value));
      if (control.value.trim() !== value) control.value = value;
    }
    matching = Array.from({ length: data.count }, (_, index) => index).filter(matches(filters));
    list.replaceChildren();
    shown = 0;
    showMore();
  }

  function showMore() {
    list.append(...matching.slice(shown, shown + STEP).map(entry));
    shown = Math.min(shown + STEP, matching.length);
    more.hidden = shown === matching.length;
    const of = matching.length === data.count ? "" : ` of ${number(data.count)}`;
    found.textContent = `${number(matching.length)}${of} match${matching.length === 1 ? "es" : ""}` + (more.hidden ? "" : `, ${number(shown)} shown`);
  }

  function entry(index) {
    const face = at(data.face, index);
    const [symbol, tone] = data.looks[face] || ["·", "none"];
    const mark = make("span", { class: `mark ${tone}` }, make("span", { "aria-hidden": true }, symbol), ` ${face.replaceAll("-", " ")}`);
    const notes = data.notes.map((name) => at(name, index)).filter(Boolean).join(" → ");
    const summary = make("summary", {}, mark, make("code", {}, idOf(index)), make("span", {}, at("backend", index)));
    if (notes) summary.append(make("span", { class: "quiet" }, notes));
    const details = make("details", { class: "case" }, summary);
    details.addEventListener("toggle", () => details.append(inside(index)), { once: true });
    return details;
  }

  function inside(index) {
    const facts = data.facts.map(([name, label]) => [label, at(name, index)]).filter(([, value]) => value || value === 0);
    const told = facts.flatMap(([label, value]) => [make("dt", {}, label), make("dd", {}, String(value))]);
    const block = make("div", {}, make("dl", { class: "facts" }, ...told), ...commands(index).map(line));
    if (data.columns.cut?.[index]) block.append(make("p", { class: "quiet" }, "What was seen of this case did not fit into the page; report.jsonl has it."));
    return fill(block.appendChild(make("div", { class: "seen" })), index).parentElement;
  }

  function fill(place, index) {
    const picture = data.pictures[at("picture", index)];
    if (picture) place.append(drawPicture(picture, at("where", index)));
    if (at("first", index)) place.append(listFirst(at("first", index)));
    return place;
  }

  const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);
  function commands(index) {
    const backend = at("backend", index);
    const names = [data.specs[backend] ?? quoted(backend), quoted(at("reproduce", index) || idOf(index)), data.options[idOf(index).split("/")[0]] ?? data.options[""]];
    return data.commands.map((parts) => parts.map((part) => (typeof part === "number" ? names[part] : part)).join(""));
  }
  const line = (text) =>
    make("div", { class: "line" }, make("code", {}, text), make("button", { type: "button", class: "copy" }, "copy"));

  async function copy(button) {
    const text = button.previousElementSibling.textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Where the page has no clipboard of its own: by way of a selection.
      const area = make("textarea", { readonly: "" });
      area.value = text;
      button.after(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      button.focus();
    }
    button.textContent = "copied";
    setTimeout(() => (button.textContent = "copy"), 1500);
  }

  function remember() {
    const filters = [...new FormData(form)].map(([name, value]) => [name, value.trim()]).filter(([, value]) => value);
    // "all" and not nothing: an empty fragment would jump to the top.
    location.replace(`#${new URLSearchParams(filters).toString() || "all"}`);
  }

  document.documentElement.classList.add("js");
  form.addEventListener("input", remember);
  form.addEventListener("change", remember);
  form.addEventListener("reset", () => setTimeout(remember));
  form.addEventListener("submit", (event) => event.preventDefault());
  more.addEventListener("click", showMore);
  new IntersectionObserver((seen) => seen.some((x) => x.isIntersecting) && showMore(), { rootMargin: "200px" }).observe(more);
  addEventListener("hashchange", apply);
  addEventListener("click", (event) => {
    if (event.target.matches("button.copy")) copy(event.target);
    const link = event.target.closest('a[href^="#"]');
    if (!link) return;
    event.preventDefault();
    location.hash = link.hash;
    document.getElementById("cases").scrollIntoView();
  });
  document.querySelectorAll(".seen[data-case]").forEach((place) => fill(place, Number(place.dataset.case)));
  apply();
})();
