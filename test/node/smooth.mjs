// How long the tasks of a page are.

// smoothness measures the longest task of a page while something is done with it: in
// processor time, which others at work on the machine do not lengthen, and by the clock.
export async function smoothness(browser, page) {
  // A busy browser loses the events that name threads. The main thread of a process has its number.
  const devtools = await browser.newBrowserCDPSession();
  const renderers = async () => (await devtools.send('SystemInfo.getProcessInfo')).processInfo.filter((p) => p.type === 'renderer').map((p) => p.id);
  return async (act) => {
    const before = await renderers();
    await browser.startTracing(page, { categories: ['disabled-by-default-devtools.timeline'] });
    await act();
    const events = JSON.parse(String(await browser.stopTracing())).traceEvents;
    const pages = new Set([...before, ...(await renderers())]);
    const tasks = events.filter((e) => e.ph === 'X' && e.name === 'RunTask' && e.tdur !== undefined && e.tid === e.pid && pages.has(e.pid));
    const longest = (key) => Math.round(Math.max(0, ...tasks.map((e) => e[key])) / 1000);
    return { tasks: tasks.length, cpu: longest('tdur'), clock: longest('dur') };
  };
}
