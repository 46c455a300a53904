import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RoomEvent } from './agui.ts';
import { emptyRoom, type Message, past, type Room, type RoomChange, reduce, reported, withSurfaces } from './room.ts';

const at = '2026-01-01T00:00:05Z';
const all = (...happenings: (RoomChange | RoomEvent)[]): Room =>
  happenings.reduce<Room>((r, h) => reduce(r, 'kind' in h ? h : { kind: 'events', events: [h], at }), emptyRoom);
const loaded = (...messages: Message[]): RoomChange => ({ kind: 'loaded', messages });
const message = (id: string, second: number, more: Partial<Message> = {}): Message => ({
  id,
  at: `2026-01-01T00:00:0${second}Z`,
  author: { kind: 'agent', name: 'math' },
  text: `text of ${id}`,
  ...more,
});
const ids = (r: Room) => r.messages.map((m) => m.id).join(' ');

const begun: RoomEvent[] = [
  { type: 'RUN_STARTED', runId: 'r1' },
  { type: 'SUBAGENT_STARTED', subagentRunId: 's1', name: 'math' },
];
const words: RoomEvent[] = [
  { type: 'TEXT_MESSAGE_START', messageId: 'm2', role: 'assistant', subagentRunId: 's1' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm2', delta: 'It is ' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm2', delta: 'five.' },
];
const call: RoomEvent[] = [
  { type: 'TOOL_CALL_START', toolCallId: 'c1', toolCallName: 'demo__add', parentMessageId: 'm2', subagentRunId: 's1' },
  { type: 'TOOL_CALL_ARGS', toolCallId: 'c1', delta: '{"a":2,' },
  { type: 'TOOL_CALL_ARGS', toolCallId: 'c1', delta: '"b":3}' },
  { type: 'TOOL_CALL_END', toolCallId: 'c1' },
];
const result: RoomEvent[] = [
  { type: 'TOOL_CALL_RESULT', messageId: 'm3', toolCallId: 'c1', content: '5' },
  {
    type: 'CUSTOM',
    name: 'junctor.call',
    value: { toolCallId: 'c1', record: 'rec', server: 'demo', tool: 'add', agent: 'math', isError: false },
  },
];

test('a run is told as it goes', () => {
  let r = all(...begun);
  assert.equal(r.run, 'r1');
  assert.deepEqual(r.atWork, ['math']);
  r = all(...begun, ...words.slice(0, 2));
  assert.equal(r.messages[0]?.text, 'It is ');
  assert.deepEqual(r.messages[0]?.author, { kind: 'agent', name: 'math' });
  assert.ok(r.messages[0]?.live && !r.messages[0].cut);
  r = all(...begun, ...words, ...call.slice(0, 2));
  assert.equal(r.writing.c1, '{"a":2,');
  assert.equal(r.messages[0]?.calls[0]?.state, 'running');
  r = all(...begun, ...words, ...call, ...result, { type: 'TEXT_MESSAGE_END', messageId: 'm2' });
  assert.deepEqual(r.messages[0]?.calls, [
    { id: 'c1', name: 'demo__add', state: 'done', arguments: { a: 2, b: 3 }, result_text: '5', record: 'rec', server: 'demo', tool: 'add' },
  ]);
  assert.deepEqual(r.writing, {});
  r = all(
    ...begun,
    ...words,
    { type: 'SUBAGENT_FINISHED', subagentRunId: 's1' },
    { type: 'RUN_FINISHED', runId: 'r1', outcome: { type: 'success' } },
  );
  assert.deepEqual([r.run, r.ended, r.atWork.length, r.messages[0]?.live], ['', 'success', 0, false]);
});

test('what is kept and what is told are one, whichever comes first', () => {
  const kept = message('m2', 2, {
    text: 'It is five.',
    calls: [
      {
        id: 'c1',
        name: 'demo__add',
        state: 'done',
        result_text: '5',
        record: 'rec',
        server: 'demo',
        tool: 'add',
        arguments: { a: 2, b: 3 },
      },
    ],
  });
  const events = [...begun, ...words, ...call, ...result, { type: 'TEXT_MESSAGE_END', messageId: 'm2' }];
  const after = all(...events, loaded(message('m1', 1), kept));
  const before = all(loaded(message('m1', 1), kept), ...events);
  const between = all(...events.slice(0, 6), loaded(message('m1', 1), kept), ...events.slice(6));
  for (const r of [after, before, between]) {
    assert.equal(ids(r), 'm1 m2');
    assert.equal(r.messages[1]?.text, 'It is five.');
    assert.equal(r.messages[1]?.calls.length, 1);
    assert.equal(r.messages[1]?.calls[0]?.state, 'done');
    assert.equal(r.messages[1]?.calls[0]?.record, 'rec');
  }
});

test('a page that was read before the end does not take words back', () => {
  const r = all(...begun, ...words, loaded(message('m1', 1), message('m2', 2, { text: 'It ' })), {
    type: 'TEXT_MESSAGE_CONTENT',
    messageId: 'm2',
    delta: ' Sure.',
  });
  assert.equal(r.messages[1]?.text, 'It is five. Sure.');
});

test('a page that was read while a call ran does not undo its result', () => {
  const running = message('m2', 2, { calls: [{ id: 'c1', name: 'demo__add', state: 'running' }] });
  const r = all(...begun, ...words, ...call, ...result, loaded(running));
  assert.equal(r.messages[0]?.calls[0]?.state, 'done');
  assert.equal(r.messages[0]?.calls[0]?.record, 'rec');
});

test('who comes into the middle of a message sees its end, and then all of it', () => {
  let r = all({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm2', delta: 'five.' });
  assert.ok(r.messages[0]?.cut);
  assert.equal(r.messages[0]?.text, 'five.');
  r = reduce(r, { kind: 'events', events: [{ type: 'TEXT_MESSAGE_END', messageId: 'm2' }], at });
  r = reduce(r, loaded(message('m2', 2, { text: 'It is five.' })));
  assert.equal(r.messages[0]?.text, 'It is five.');
  assert.equal(r.messages[0]?.cut, false);
});

test('pages stand in order, older and newer ones around those that are there', () => {
  let r = all(loaded(message('m4', 4), message('m5', 5)));
  r = reduce(r, loaded(message('m1', 1), message('m2', 2), message('m3', 3)));
  r = reduce(r, loaded(message('m5', 5), message('m6', 6)));
  assert.equal(ids(r), 'm1 m2 m3 m4 m5 m6');
  assert.equal(reduce(r, loaded()).messages, r.messages);
  // What was said meanwhile, and is not kept yet, stays last.
  r = reduce(r, { kind: 'events', events: [{ type: 'TEXT_MESSAGE_START', messageId: 'x', role: 'assistant' }], at });
  r = reduce(r, loaded(message('m6', 6), message('m7', 7)));
  assert.equal(ids(r), 'm1 m2 m3 m4 m5 m6 m7 x');
});

test('a run that waits for a person says for which call', () => {
  const r = all(...begun, ...words, ...call, {
    type: 'RUN_FINISHED',
    runId: 'r1',
    outcome: { type: 'interrupt', interrupts: [{ id: 'i1', reason: 'tool_approval', toolCallId: 'c1' }] },
  });
  assert.equal(r.ended, 'interrupt');
  assert.equal(r.messages[0]?.calls[0]?.state, 'waiting');
  const denied = reduce(r, loaded(message('m2', 2, { calls: [{ id: 'c1', name: 'demo__add', state: 'denied' }] })));
  assert.equal(denied.messages[0]?.calls[0]?.state, 'denied');
  // Allowed, it goes on as the same call.
  const next = [{ type: 'RUN_STARTED', runId: 'r2' }, call[0] as RoomEvent].reduce(
    (s, e) => reduce(s, { kind: 'events', events: [e], at }),
    r,
  );
  assert.equal(next.messages.length, 1);
  assert.equal(next.messages[0]?.calls[0]?.state, 'running');
});

test('a stop, a failure and an outcome of tomorrow end a run', () => {
  for (const [e, ended] of [
    [{ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } }, 'cancelled'],
    [{ type: 'RUN_FINISHED', outcome: 'cancelled' }, 'cancelled'],
    [{ type: 'RUN_FINISHED', outcome: { type: 'of tomorrow' } }, 'success'],
    [{ type: 'RUN_FINISHED' }, 'success'],
    [{ type: 'RUN_ERROR', message: 'no model' }, 'failed'],
  ] as [RoomEvent, string][]) {
    const r = all(...begun, ...words, e);
    assert.deepEqual([r.run, r.ended, r.messages[0]?.live, r.atWork.length], ['', ended, false, 0]);
  }
  assert.equal(all(...begun, { type: 'RUN_ERROR', message: 'no model' }).error, 'no model');
});

test('a failed tool says so, and an App is shown with what it was given', () => {
  const r = all(
    ...begun,
    ...words,
    ...call,
    { type: 'TOOL_CALL_RESULT', messageId: 'm3', toolCallId: 'c1', content: 'no' },
    { type: 'CUSTOM', name: 'junctor.call', value: { toolCallId: 'c1', record: 'rec', isError: true } },
    {
      type: 'ACTIVITY_SNAPSHOT',
      messageId: 'a1',
      activityType: 'mcp-apps',
      content: { toolCallId: 'c1', resourceUri: 'ui://demo/x', serverId: 'demo', toolInput: { a: 1 }, result: { content: [] } },
    },
  );
  const c = r.messages[0]?.calls[0];
  assert.deepEqual([c?.state, c?.view, c?.server, c?.arguments, c?.result], ['failed', 'ui://demo/x', 'demo', { a: 1 }, { content: [] }]);
});

test('what the room itself says is nobody’s', () => {
  const r = all(
    ...begun,
    { type: 'TEXT_MESSAGE_START', messageId: 'x', role: 'system' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId: 'x', delta: 'No.' },
  );
  assert.deepEqual([r.messages[0]?.author.kind, r.messages[0]?.text], ['system', 'No.']);
});

test('a run that is told again from its beginning reads as once', () => {
  const events = [...begun, ...words, ...call, ...result];
  const once = all(...events);
  const twice = all(...events, ...events);
  const { at: _, ...rest } = { at, ...twice };
  assert.deepEqual(rest, once);
});

test('after a stream was lost, only what it tells anew goes on', () => {
  const lost = all(...begun, ...words, { kind: 'opened' });
  assert.deepEqual([lost.run, lost.atWork.length, lost.messages[0]?.live], ['', 0, false]);
  const again = all(...begun, ...words, { kind: 'opened' }, ...begun, ...words);
  assert.deepEqual([again.run, again.messages.length, again.messages[0]?.text], ['r1', 1, 'It is five.']);
});

test('an agent that another one asks answers aside, and a limit names who may go on', () => {
  const r = all(
    ...begun,
    { type: 'SUBAGENT_STARTED', subagentRunId: 's2', parentSubagentRunId: 's1', name: 'words' },
    { type: 'TEXT_MESSAGE_START', messageId: 'x', role: 'assistant', subagentRunId: 's2' },
    { type: 'TEXT_MESSAGE_START', messageId: 'y', role: 'assistant', subagentRunId: 's1' },
    { type: 'CUSTOM', name: 'junctor.limit', value: { agent: 'math', reason: '8 turns' } },
  );
  assert.deepEqual(
    r.messages.map((m) => [m.author.name, m.aside !== undefined]),
    [
      ['words', true],
      ['math', false],
    ],
  );
  assert.equal(r.limited, 'math');
  assert.equal(all(...begun, { type: 'CUSTOM', name: 'junctor.limit', value: { agent: 'math' } }, ...begun).limited, '');
});

test('calls of two agents that have the same id are two calls', () => {
  const other: RoomEvent[] = [
    { type: 'RUN_STARTED', runId: 'r2' },
    { type: 'SUBAGENT_STARTED', subagentRunId: 's2', name: 'words' },
    { type: 'TOOL_CALL_START', toolCallId: 'c1', toolCallName: 'notes__add', parentMessageId: 'm9', subagentRunId: 's2' },
    { type: 'TOOL_CALL_END', toolCallId: 'c1' },
    { type: 'TOOL_CALL_RESULT', messageId: 'm10', toolCallId: 'c1', content: 'kept' },
  ];
  const r = all(...begun, ...words, ...call, ...result, ...other);
  assert.deepEqual(
    r.messages.map((m) => m.calls.map((c) => [c.name, c.result_text])),
    [[['demo__add', '5']], [['notes__add', 'kept']]],
  );
});

test('events that say nothing, or too little, change nothing', () => {
  const r = all(...begun, ...words);
  for (const e of [
    { type: 'OF_TOMORROW' },
    { type: 'TEXT_MESSAGE_CONTENT' },
    { type: 'TEXT_MESSAGE_END', messageId: 'nobody' },
    { type: 'TOOL_CALL_START' },
    { type: 'TOOL_CALL_ARGS' },
    { type: 'TOOL_CALL_RESULT', toolCallId: 'nobody', content: 'x' },
    { type: 'CUSTOM', name: 'junctor.call', value: null },
    { type: 'CUSTOM', name: 'other', value: {} },
    { type: 'ACTIVITY_SNAPSHOT', activityType: 'mcp-apps', content: 'x' },
    { type: 'TEXT_MESSAGE_START', messageId: 'u', role: 'user' },
  ] as RoomEvent[])
    assert.deepEqual(reduce(r, { kind: 'events', events: [e], at }), r, e.type);
});

test('events in any order never break it, and never lose a message', () => {
  const events = [
    ...begun,
    ...words,
    ...call,
    ...result,
    { type: 'TEXT_MESSAGE_END', messageId: 'm2' },
    { type: 'RUN_FINISHED' },
  ] as RoomEvent[];
  let seed = 7;
  const random = (n: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % n;
  };
  for (let round = 0; round < 300; round++) {
    let r = emptyRoom;
    for (let i = 0; i < 40; i++) {
      const before = r.messages.length;
      const e = events[random(events.length)] as RoomEvent;
      r = random(8) === 0 ? reduce(r, loaded(message('m1', 1), message('m2', 2))) : reduce(r, { kind: 'events', events: [e], at });
      assert.ok(r.messages.length >= before);
      assert.equal(new Set(r.messages.map((m) => m.id)).size, r.messages.length, 'no message stands twice');
      for (const m of r.messages) assert.equal(new Set(m.calls.map((c) => c.id)).size, m.calls.length, 'no call stands twice');
    }
  }
});

const surface = (id: string, words = 'hello') => ({ id, components: [{ id: 'root', component: 'Text', text: words }], data: {} });
const shows = (id: string, message: string, words?: string): RoomEvent => ({
  type: 'ACTIVITY_SNAPSHOT',
  messageId: `ui-${id}-${message}`,
  activityType: 'a2ui-surface',
  content: { surface: surface(id, words), agent: 'math' },
});

test('a surface stands with the message that shows it, told or kept', () => {
  const told = all(...begun, ...words, shows('s-1', 'm2'));
  assert.deepEqual(told.messages[0]?.surfaces, [surface('s-1')]);
  const kept = message('m2', 2, { text: 'It is five.', surfaces: [surface('s-1')] });
  for (const r of [all(...begun, ...words, shows('s-1', 'm2'), loaded(kept)), all(loaded(kept), ...begun, shows('s-1', 'm2'))])
    assert.deepEqual(
      r.messages.map((m) => [m.id, m.surfaces]),
      [['m2', [surface('s-1')]]],
    );
  // What is the same stays the same object: a person may be filling it in.
  const again = all(...begun, ...words, shows('s-1', 'm2'));
  const after = reduce(again, loaded(kept));
  assert.equal(after.messages[0]?.surfaces[0], again.messages[0]?.surfaces[0]);
  const other = reduce(again, { kind: 'events', events: [shows('s-1', 'm2', 'other')], at });
  assert.deepEqual(other.messages[0]?.surfaces, [surface('s-1', 'other')]);
});

test('a surface may come before its words, and alone', () => {
  const r = all(...begun, { ...shows('s', 'm2'), subagentRunId: 's1' });
  assert.deepEqual(
    r.messages.map((m) => [m.id, m.author.name, m.text, m.surfaces.length]),
    [['m2', 'math', '', 1]],
  );
  assert.equal(all(...begun, { ...shows('s', 'm2'), content: { surface: { id: 's' } } }).messages.length, 0);
});

test('what could not be shown is reported until the room knows', () => {
  const shown = message('a', 1, { surfaces: [surface('main')] });
  const note = message('n', 2, { author: { kind: 'system', name: 'room' }, action: { surfaceId: 'main', name: 'error' } });
  const anew = message('b', 3, { surfaces: [surface('main')] });
  const r = all(loaded(shown, note, anew));
  assert.deepEqual(
    ['a', 'b'].map((m) => reported(r.messages, m, 'main')),
    [true, false],
  );
  assert.equal(reported(r.messages, 'a', 'other'), false);
});

test('a surface that is shown anew is past where it was', () => {
  const r = all(
    loaded(
      message('a', 1, { surfaces: [surface('main'), surface('other')] }),
      message('b', 2, { surfaces: [surface('main')], author: { kind: 'agent', name: 'another' } }),
      message('c', 3, { surfaces: [surface('main')] }),
    ),
  );
  assert.deepEqual([...past(r.messages)], [['a', ['main']]]);
});

test('what an agent shows in its turn stands for the Apps of the calls of that turn', () => {
  const surface = { version: 'v0.9', createSurface: { surfaceId: 's', catalogId: 'c' } };
  const message = (id: string, name: string, run: string, more: Partial<Message> = {}): Message => ({
    id,
    at: `2026-01-01T00:00:0${id}Z`,
    author: { kind: 'agent', name },
    run,
    text: '',
    ...more,
  });
  const room = reduce(emptyRoom, {
    kind: 'loaded',
    messages: [message('1', 'bank', 'r1'), message('2', 'bank', 'r1'), message('3', 'clerk', 'r1'), message('4', 'bank', 'r2')],
  });
  assert.deepEqual([...withSurfaces(room.messages)], []);
  const showing = room.messages.map((m) => (m.id === '2' ? { ...m, surfaces: [surface as never] } : m));
  assert.deepEqual([...withSurfaces(showing)], ['1', '2']);
});
