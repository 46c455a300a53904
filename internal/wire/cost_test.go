package wire

import (
	"bytes"
	"strings"
	"testing"
)

// large is a call with 64 KiB of arguments.
func large() []byte {
	text := strings.Repeat(`The quick brown fox jumps over the lazy dog. `, 64<<10/45)
	return bytes.Replace(call(), []byte("hello, world"), []byte(text), 1)
}

// many is a call with 64 KiB of small values.
func many() []byte {
	var b strings.Builder
	for b.Len() < 64<<10 {
		b.WriteString(`{"id":12345,"name":"somebody","active":true,"tags":["a","b"],"ratio":0.25},`)
	}
	list := `"items":[` + strings.TrimSuffix(b.String(), ",") + `],`
	return bytes.Replace(call(), []byte(`"arguments":{`), []byte(`"arguments":{`+list), 1)
}

func allocations(t *testing.T, most float64, what string, f func()) {
	t.Helper()
	if got := testing.AllocsPerRun(100, f); got > most {
		t.Errorf("%s: %v allocations, want at most %v", what, got, most)
	}
}

// Not parallel: AllocsPerRun counts what others allocate too.
func TestAllocations(t *testing.T) { //nolint:paralleltest // see above
	var m Message
	for what, body := range map[string][]byte{"200 bytes": call(), "64 KiB of text": large(), "64 KiB of values": many()} {
		allocations(t, 1, "Parse of "+what, func() { // the name
			if err := m.Parse(body); err != nil {
				t.Fatal(err)
			}
		})
		allocations(t, 0, "Check of "+what, func() { _ = CheckJSON(body) })
	}
	body := call()
	note, list := []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), []byte(`[1,2,3]`)
	allocations(t, 0, "Parse of a known note", func() { _ = m.Parse(note) })
	allocations(t, 0, "Members, Elements and Get", func() {
		for key, value := range Members(body) {
			_, _ = key, value
		}
		for value := range Elements(list) {
			_ = value
		}
		_ = Get(body, "method")
	})
	dst := make([]byte, 0, 1024)
	result, id := []byte(`{"content":[],"_meta":{"a":1}}`), []byte("17")
	allocations(t, 0, "AppendResult, AppendObject and AppendEvent", func() {
		b := AppendResult(dst, id, result)
		b = AppendObject(b, result, []string{"_meta"}, Member{"resultType", []byte(`"complete"`)})
		_ = AppendEvent(b, Event{Name: "message", Data: result})
	})
	if err := m.Parse(body); err != nil {
		t.Fatal(err)
	}
	h := headersOf(&m)
	allocations(t, 0, "CheckHeaders", func() {
		if e := CheckHeaders(h, &m); e != nil {
			t.Fatal(e)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for name, body := range map[string][]byte{"200B": call(), "64KiB-text": large(), "64KiB-values": many()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			var m Message
			for b.Loop() {
				if err := m.Parse(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkValue(b *testing.B) {
	for name, body := range map[string][]byte{"200B": call(), "64KiB-text": large(), "64KiB-values": many()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if _, err := DecodeValue(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEventReader(b *testing.B) {
	stream := bytes.Repeat(AppendEvent(nil, Event{Name: "message", Data: call()}), 100)
	b.ReportAllocs()
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		r := NewEventReader(bytes.NewReader(stream), 1<<20)
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
}
