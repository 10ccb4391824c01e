// Every visible text whose contrast with what is behind it is below 4.5, and every square of a picture below 3.
(() => {
  const channel = (x) => (x / 255 <= 0.04045 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4);
  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  const luminance = (colour) => {
    const [red, green, blue] = numbers(colour).map(channel);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const behind = (element) => {
    if (!element) return "rgb(255, 255, 255)";
    const colour = getComputedStyle(element).backgroundColor;
    return numbers(colour)[3] === 0 ? behind(element.parentElement) : colour;
  };
  const ratio = (...colours) => {
    const [dark, light] = colours.map(luminance).sort((x, y) => x - y);
    return (light + 0.05) / (dark + 0.05);
  };
  const hasText = (element) =>
    element.matches("input, select") || [...element.childNodes].some((x) => x.nodeType === 3 && x.data.trim());
  const visible = (element) => element.checkVisibility() && !element.matches("script, option, optgroup, title");

  const all = [...document.body.querySelectorAll("*")].filter(visible);
  const measured = [
    ...all.filter(hasText).map((x) => [x, ratio(getComputedStyle(x).color, behind(x)) / 4.5]),
    ...all.filter((x) => x.matches("input")).map((x) => [x, ratio(getComputedStyle(x, "::placeholder").color, behind(x)) / 4.5]),
    ...all.filter((x) => x.matches("rect")).map((x) => [x, ratio(getComputedStyle(x).fill, behind(x.parentElement)) / 3]),
  ];
  const told = ([x, share]) => `${x.tagName} ${x.textContent.trim().slice(0, 30)}: ${share.toFixed(2)} of what it needs`;
  return { count: measured.length, poor: measured.filter(([, share]) => share < 1).map(told) };
})()
