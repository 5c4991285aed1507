// The frame of the page is painted before the rest of its style and its code are loaded. A page that
// nobody sees paints nothing, and must work all the same.
const link = (attributes) => Object.assign(document.createElement("link"), attributes);
let isStarted = false;
function start() {
  if (isStarted) return;
  isStarted = true;
  const run = () => import("./app.js");
  document.head.append(
    link({ rel: "modulepreload", href: "/js/app.js" }),
    link({ rel: "stylesheet", href: "/app.css", onload: run, onerror: run }),
    link({ rel: "icon", href: "/icon.svg", type: "image/svg+xml" }));
}
if (document.hidden) start();
new PerformanceObserver(start).observe({ type: "paint", buffered: true });
document.addEventListener("visibilitychange", start);
setTimeout(start, 1000);
