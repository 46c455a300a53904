package wire

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// readEvents reads all events of a stream and copies their data.
func readEvents(r io.Reader, limit int) ([]Event, error) {
	var events []Event
	reader := NewEventReader(r, limit)
	for {
		e, err := reader.Next()
		if err != nil {
			if again, err2 := reader.Next(); !errors.Is(err2, err) || again.Data != nil {
				return nil, errors.New("the error did not stay")
			}
			return events, err
		}
		if e.Data != nil {
			e.Data = append([]byte{}, e.Data...)
		}
		events = append(events, e)
	}
}

func sameEvent(a, b Event) bool {
	return a.ID == b.ID && a.HasID == b.HasID && a.Name == b.Name && a.Retry == b.Retry && a.HasRetry == b.HasRetry &&
		bytes.Equal(a.Data, b.Data) && (a.Data == nil) == (b.Data == nil)
}

func TestEventReader(t *testing.T) {
	t.Parallel()
	data := func(s string) Event { return Event{Data: []byte(s)} }
	for _, tt := range []struct {
		name, stream string
		want         []Event
		err          error
	}{
		{"empty", "", nil, io.EOF},
		{"one", "data: x\n\n", []Event{data("x")}, io.EOF},
		{"CRLF", "data: x\r\n\r\n", []Event{data("x")}, io.EOF},
		{"CR", "data: x\r\rdata: y\r\r", []Event{data("x"), data("y")}, io.EOF},
		{"mixed ends", "data: a\rdata: b\r\ndata: c\n\r\n", []Event{data("a\nb\nc")}, io.EOF},
		{"byte-order mark", "\uFEFFdata: x\n\n", []Event{data("x")}, io.EOF},
		{"second byte-order mark", "data: x\n\n\uFEFFdata: y\n\n", []Event{data("x")}, io.EOF},
		{"no space", "data:x\n\n", []Event{data("x")}, io.EOF},
		{"two spaces", "data:  x\n\n", []Event{data(" x")}, io.EOF},
		{"lines", "data: a\ndata:\ndata: b\n\n", []Event{data("a\n\nb")}, io.EOF},
		{"empty data", "data:\n\n", []Event{data("")}, io.EOF},
		{"field without colon", "data\n\n", []Event{data("")}, io.EOF},
		{"comments", ": hi\n\n:\ndata: x\n: there\n\n", []Event{data("x")}, io.EOF},
		{"all fields", "event: message\nid: 7\nretry: 3000\ndata: {}\n\n", []Event{{ID: "7", HasID: true, Name: "message", Retry: 3000, HasRetry: true, Data: []byte("{}")}}, io.EOF},
		{"id alone", "id: 7\n\n", []Event{{ID: "7", HasID: true}}, io.EOF},
		{"empty id", "id\ndata: x\n\n", []Event{{HasID: true, Data: []byte("x")}}, io.EOF},
		{"id with NUL", "id: a\x00b\ndata: x\n\n", []Event{data("x")}, io.EOF},
		{"retry is no number", "retry: 1s\ndata: x\n\n", []Event{data("x")}, io.EOF},
		{"retry is huge", "retry: 99999999999999999999\ndata: x\n\n", []Event{data("x")}, io.EOF},
		{"unknown field", "foo: bar\n\ndata: x\n\n", []Event{data("x")}, io.EOF},
		{"case matters", "Data: x\n\n", nil, io.EOF},
		{"fields do not carry over", "event: a\nid: 1\ndata: x\n\ndata: y\n\n", []Event{{ID: "1", HasID: true, Name: "a", Data: []byte("x")}, data("y")}, io.EOF},
		{"cut in an event", "data: x\n", nil, io.ErrUnexpectedEOF},
		{"cut in a line", "data: x\n\ndata: y", []Event{data("x")}, io.ErrUnexpectedEOF},
		{"exactly the limit", "data: " + strings.Repeat("x", 94) + "\n\n", []Event{data(strings.Repeat("x", 94))}, io.EOF},
		{"a line above the limit", "data: " + strings.Repeat("x", 95) + "\n\n", nil, ErrTooLong},
		{"an event above the limit", strings.Repeat("data: x\n", 15) + "\n", nil, ErrTooLong},
		{"a comment above the limit", ":" + strings.Repeat("x", 100) + "\n\n", nil, ErrTooLong},
		{"an endless line", strings.Repeat("x", 10_000), nil, ErrTooLong},
	} {
		for how, r := range map[string]io.Reader{"whole": strings.NewReader(tt.stream), "by byte": iotest.OneByteReader(strings.NewReader(tt.stream))} {
			got, err := readEvents(r, 100)
			if !slices.EqualFunc(got, tt.want, sameEvent) || !errors.Is(err, tt.err) {
				t.Errorf("%s, %s: %+v, %v; want %+v, %v", tt.name, how, got, err, tt.want, tt.err)
			}
		}
	}
}

func TestEventReaderTakesLongLines(t *testing.T) {
	t.Parallel()
	long := bytes.Repeat([]byte("0123456789"), 10_000)
	stream := AppendEvent(AppendEvent(nil, Event{Data: long}), Event{Data: []byte("short")})
	got, err := readEvents(bytes.NewReader(stream), 1<<20)
	if len(got) != 2 || !bytes.Equal(got[0].Data, long) || string(got[1].Data) != "short" || !errors.Is(err, io.EOF) {
		t.Errorf("%d events, %v", len(got), err)
	}
}

func TestEventReaderPassesErrorsOn(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	got, err := readEvents(io.MultiReader(strings.NewReader("data: x\n\ndata: y\n"), iotest.ErrReader(broken)), 100)
	if len(got) != 1 || !errors.Is(err, broken) {
		t.Errorf("%d events, %v", len(got), err)
	}
}

func TestAppendEvent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		e    Event
		want string
	}{
		{Event{Data: []byte("{}")}, "data: {}\n\n"},
		{Event{Name: "message", ID: "s/1", Data: []byte("{}")}, "event: message\nid: s/1\ndata: {}\n\n"},
		{Event{ID: "s/0", Data: []byte{}}, "id: s/0\ndata: \n\n"},
		{Event{HasID: true, Retry: 500}, "id: \nretry: 500\n\n"},
		{Event{Data: []byte("a\nb\r\nc\rd\n")}, "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"},
		{Event{Name: "a\ndata: forged\n\n", ID: "1\r\n\x002", Data: []byte("x")}, "event: adata: forged\nid: 12\ndata: x\n\n"},
	} {
		if got := string(AppendEvent(nil, tt.e)); got != tt.want {
			t.Errorf("AppendEvent(%+v) = %q, want %q", tt.e, got, tt.want)
		}
	}
}

// asRead is e as it comes out of a reader.
func asRead(e Event) Event {
	clean := func(s string) string { return strings.NewReplacer("\n", "", "\r", "", "\x00", "").Replace(s) }
	// A NUL is left out of the name too, though readers would take it.
	e.HasID, e.HasRetry = e.HasID || e.ID != "", e.HasRetry || e.Retry > 0
	e.Name, e.ID, e.Retry = clean(e.Name), clean(e.ID), max(e.Retry, 0)
	if e.Data != nil {
		e.Data = []byte(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(e.Data)))
	}
	return e
}

func eventsComeBack(t interface {
	Fatalf(format string, args ...any)
}, events []Event,
) {
	var stream []byte
	var want []Event
	for _, e := range events {
		comment := append(appendField(stream, ": ", e.Name), '\n')
		stream = AppendEvent(comment, e)
		if e.Data != nil || e.HasID || e.ID != "" || e.Name != "" || e.HasRetry || e.Retry > 0 {
			want = append(want, asRead(e))
		}
	}
	got, err := readEvents(bytes.NewReader(stream), len(stream)+1)
	if !slices.EqualFunc(got, want, sameEvent) || !errors.Is(err, io.EOF) {
		t.Fatalf("%q gave %+v, %v; want %+v", stream, got, err, want)
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("1", "message", []byte("{}"), 0, []byte("data: x\r\n\r\n"))
	f.Add("", "", []byte("a\r\nb\rc\n"), 3000, []byte("\xef\xbb\xbfid\n\n:"))
	f.Fuzz(func(t *testing.T, id, name string, data []byte, retry int, junk []byte) {
		retry %= 1 << 30
		eventsComeBack(t, []Event{{ID: id, Name: name, Data: data, Retry: retry}, {Data: data}})
		got, _ := readEvents(bytes.NewReader(junk), 64)
		slow, _ := readEvents(iotest.OneByteReader(bytes.NewReader(junk)), 64)
		if !slices.EqualFunc(got, slow, sameEvent) {
			t.Fatalf("%q gave %+v at once and %+v by byte", junk, got, slow)
		}
	})
}

func TestEventsComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab: \r\n\x00é")))
		events := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Event {
			e := Event{ID: text.Draw(t, "id"), Name: text.Draw(t, "name"), Retry: rapid.IntRange(0, 5000).Draw(t, "retry"), HasID: rapid.Bool().Draw(t, "has id")}
			if rapid.Bool().Draw(t, "has data") {
				e.Data = []byte(text.Draw(t, "data"))
			}
			return e
		})).Draw(t, "events")
		eventsComeBack(t, events)
	})
}
