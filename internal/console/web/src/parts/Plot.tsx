import { memo, type RefObject, useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { type ChartData, stack } from './chartData';

// Plot draws a chart with uPlot. It is a module of its own, so that uPlot is loaded with the
// first chart and not with the console.

export interface PlotProps {
  data: ChartData;
  kind: 'bars' | 'lines';
  height: number;
  format: (n: number) => string;
  hover: (index: number | null) => void;
  zoom?: ((from: number, to: number) => void) | undefined;
  open?: ((index: number) => void) | undefined;
  canvas: RefObject<HTMLCanvasElement | null>;
}

const day = 86_400;
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const date = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const font = "11px 'Inter Variable', ui-sans-serif, system-ui, sans-serif";

// timeLabels writes the marks of the time axis: the date where a day begins.
function timeLabels(_: uPlot, splits: number[], __: number, ___: number, increment: number): string[] {
  return splits.map((s) => {
    const at = new Date(s * 1000);
    return increment >= day || (at.getHours() === 0 && at.getMinutes() === 0) ? date.format(at) : clock.format(at);
  });
}

// toColumns returns the data as uPlot takes it. A value stands in the middle of its step, so
// that the nearest one to the pointer is that of the step under it.
function toColumns(d: ChartData, kind: PlotProps['kind']): uPlot.AlignedData {
  return [
    d.times.map((at) => (at + d.step / 2) / 1000),
    ...(kind === 'bars' ? stack(d) : d.lines.map((l) => l.values)),
  ] as uPlot.AlignedData;
}

// findLone returns the values without a neighbor, which no line leads to.
function findLone(values: ArrayLike<number | null | undefined>): number[] {
  return Array.from(values).flatMap((v, i) => (v != null && values[i - 1] == null && values[i + 1] == null ? [i] : []));
}

const minimumDrag = 6; // pixels

export default memo(function Plot(props: PlotProps) {
  const { data, kind, height } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const now = useRef(props);
  now.current = props;
  const tones = data.lines.map((l) => l.tone).join();

  // biome-ignore lint/correctness/useExhaustiveDependencies: new data is given to the chart that there is
  useEffect(() => {
    const at = box.current;
    if (!at) return;
    const color = (name: string) => getComputedStyle(at).getPropertyValue(name).trim();
    const lines = kind === 'bars' ? [...now.current.data.lines].reverse() : now.current.data.lines;
    const axis: uPlot.Axis = {
      stroke: () => color('--soft'),
      font,
      grid: { stroke: () => color('--line-soft'), width: 1 },
      ticks: { show: false },
    };
    const u = new uPlot(
      {
        width: at.clientWidth || 300,
        height,
        legend: { show: false },
        padding: [8, 18, 0, 0],
        scales: {
          x: { range: () => [now.current.data.from / 1000, now.current.data.to / 1000] },
          y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] },
        },
        axes: [
          { ...axis, grid: { show: false }, values: timeLabels, size: 26, gap: 6, space: 64 },
          {
            ...axis,
            values: (_, splits) => splits.map((s) => now.current.format(s)),
            size: (_, values) => 16 + Math.max(...(values ?? ['']).map((v) => v.length)) * 6.4,
            gap: 6,
            space: 34,
          },
        ],
        series: [
          {},
          ...lines.map((l): uPlot.Series => {
            const tone = () => color(`--chart-${l.tone}`);
            return kind === 'bars'
              ? {
                  fill: tone,
                  stroke: tone,
                  width: 0,
                  paths: uPlot.paths.bars?.({ size: [0.78, 36] }) as uPlot.Series.PathBuilder,
                  points: { show: false },
                }
              : {
                  stroke: tone,
                  width: 1.75,
                  points: { size: 5, fill: tone, stroke: tone, filter: (u, i, show) => (show ? null : findLone(u.data[i] ?? [])) },
                };
          }),
        ],
        cursor: {
          y: false,
          points: kind === 'bars' ? { show: false } : { size: 7 },
          drag: { x: Boolean(now.current.zoom), y: false, setScale: false, dist: minimumDrag },
          sync: { key: 'charts', setSeries: false, filters: { pub: (type) => type === 'mousemove' || type === 'mouseleave' } },
        },
        hooks: {
          setCursor: [(u) => now.current.hover(u.cursor.idx ?? null)],
          setSelect: [
            (u) => {
              if (u.select.width < minimumDrag) return;
              const { from, to, step } = now.current.data;
              const begin = Math.floor((u.posToVal(u.select.left, 'x') * 1000 - from) / step) * step + from;
              const end = Math.ceil((u.posToVal(u.select.left + u.select.width, 'x') * 1000 - from) / step) * step + from;
              u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
              now.current.zoom?.(Math.max(from, begin), Math.min(to, Math.max(end, begin + step)));
            },
          ],
        },
      },
      toColumns(now.current.data, kind),
      at,
    );
    plot.current = u;
    props.canvas.current = u.ctx.canvas;
    u.over.addEventListener('click', () => {
      if (typeof u.cursor.idx === 'number') now.current.open?.(u.cursor.idx);
    });
    const size = new ResizeObserver(() => {
      if (at.clientWidth > 0) u.setSize({ width: at.clientWidth, height });
    });
    size.observe(at);
    // Light and dark are an attribute of the page.
    const scheme = new MutationObserver(() => u.redraw(false, true));
    scheme.observe(document.documentElement, { attributes: true, attributeFilter: ['data-mantine-color-scheme'] });
    return () => {
      size.disconnect();
      scheme.disconnect();
      u.destroy();
      plot.current = null;
    };
  }, [kind, tones, height]);

  useEffect(() => plot.current?.setData(toColumns(data, kind)), [data, kind]);

  return <div ref={box} className={`plot ${props.open ? 'opens' : ''}`} style={{ height }} />;
});
