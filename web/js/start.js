// The frame of the page is painted before its code is loaded. A page that nobody sees paints
// nothing, and must work all the same.
let isStarted = false;
function start() {
  if (isStarted) return;
  isStarted = true;
  import("./app.js");
}
if (document.hidden) start();
new PerformanceObserver(start).observe({ type: "paint", buffered: true });
document.addEventListener("visibilitychange", start);
setTimeout(start, 1000);
