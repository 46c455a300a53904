package audit

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"

	junctor "github.com/junctor-mcp/junctor"
)

// A line that is read is made of exactly these bytes.
func FuzzLine(f *testing.F) {
	e := newEncoder("n1")
	e.beginRecord(1, time.Unix(0, 0), PhaseEnd)
	e.addCall(ended("x"))
	good, _ := e.finishRecord(&[32]byte{})
	f.Add(bytes.TrimSpace(good))
	f.Add([]byte(""))
	f.Add([]byte(strings.Repeat("0", 64) + " {}"))
	f.Add([]byte(strings.Repeat("0", 64) + ` {"seq":1,"seq":2,"replica":"n","phase":"end"}`))
	f.Add([]byte(strings.Repeat("A", 64) + ` {"seq":1,"replica":"n","phase":"end"}`))
	f.Add([]byte(strings.Repeat("0", 64) + ` {"seq":1,"node":"n","phase":"end","door":"mcp"}`))
	f.Add([]byte(strings.Repeat("0", 64) + ` {"seq":1,"node":"n","replica":"m","phase":"end"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := parseLine(b)
		if err != nil {
			return
		}
		r := l.toRecord()
		if r.Hash+" "+r.JSON != string(b) {
			t.Errorf("read %q as %q", b, r.Hash+" "+r.JSON)
		}
		if r.Seq == 0 || r.Replica == "" {
			t.Errorf("a record without a number or a replica: %q", b)
		}
	})
}

// The quick reader and the JSON parser never disagree.
func FuzzScan(f *testing.F) {
	e := newEncoder("n1")
	e.beginRecord(1, time.Unix(0, 0), PhaseEnd)
	e.addCall(ended("x"))
	good, _ := e.finishRecord(&[32]byte{})
	f.Add(string(good[hashPrefixSize : len(good)-1]))
	f.Add(`{"seq":1,"seq":2}`)
	f.Add(`{"seq":1,}`)
	f.Add(`{"seq":18446744073709551615,"bytes_in":-1}`)
	f.Add(`{"time":"2026-02-30T00:00:00.000000Z"}`)
	f.Add(`{"time":"2026-02-28T24:00:00.000000Z","name":"é"}`)
	f.Add("{\"name\":\"\xff\"}")
	f.Add(`{"dropped":0123}`)
	f.Add(`{"seq":1,"node":"n","phase":"end","door":"mcp"}`)
	f.Add(`{"seq":1,"node":"n","replica":"m","door":"mcp","entry_point":"sse"}`)
	f.Add(`{}`)
	f.Fuzz(func(t *testing.T, s string) {
		var quick, full entry
		if !quick.scanRecord(s) {
			return
		}
		if err := jsonv2.Unmarshal([]byte(s), &full); err != nil {
			t.Fatalf("%q is no JSON: %v", s, err)
		}
		if !quick.Time.Equal(full.Time) {
			t.Errorf("%q: time %s, want %s", s, quick.Time, full.Time)
		}
		quick.Time, full.Time = time.Time{}, time.Time{}
		if quick != full {
			t.Errorf("%q\n got %+v\nwant %+v", s, quick, full)
		}
	})
}

// Whatever a caller is called and calls, the record can be read and is bounded.
func FuzzRecord(f *testing.F) {
	f.Add("id", "name", "reason", int64(5))
	f.Add("\x00\"\\\n", "\xff\xfe", strings.Repeat("\x01", 5000), int64(-1))
	f.Fuzz(func(t *testing.T, id, name, reason string, us int64) {
		e := newEncoder("n1")
		c := ended(id)
		c.Name, c.Reason, c.Duration = name, reason, time.Duration(us)
		c.Tenant, c.Kind, c.EntryPoint, c.Server, c.Version = junctor.TenantID(name), junctor.Kind(name), junctor.EntryPoint(name), name, name
		c.Issuer, c.Subject, c.Status, c.Code = name, name, junctor.Status(name), junctor.Code(name)
		c.Policy = []junctor.PolicyHit{{Rule: name, Verdict: junctor.PolicyVerdict(reason), Mode: junctor.ModeAudit, Value: junctor.HitTrue}, {Rule: "r1", Verdict: junctor.VerdictDeny, Mode: junctor.ModeEnforce, Value: junctor.HitError}}
		e.beginRecord(7, time.Unix(1, 5000), PhaseEnd)
		e.addCall(c)
		b, hash := e.finishRecord(&[32]byte{9})
		if len(b) > maxLine || bytes.IndexByte(b, '\n') != len(b)-1 || bytes.IndexByte(b, 0) >= 0 {
			t.Fatalf("%d bytes: %q", len(b), b)
		}
		l, err := parseLine(b[:len(b)-1])
		if err != nil || l.hash != hash || follow(&[32]byte{9}, l.rawJSON) != hash {
			t.Fatalf("%v: %q", err, b)
		}
		if !strings.ContainsFunc(id+name+reason, func(r rune) bool { return r < 0x20 || r == '"' || r == '\\' || r == 0x7f }) && us >= 0 && !new(entry).scanRecord(string(l.rawJSON)) {
			t.Errorf("not read quickly: %s", l.rawJSON)
		}
		if len(name) <= maxName && utf8.ValidString(name) && !strings.Contains(name, "\x00") && l.Name != name {
			t.Errorf("name %q came back as %q", name, l.Name)
		}
	})
}

// Whatever lies in the folder, opening and verifying neither panic nor lose
// what is recorded after.
func FuzzSegment(f *testing.F) {
	e := newEncoder("n1")
	e.beginRecord(1, time.Unix(0, 0), PhaseSegment)
	e.addText("prev", strings.Repeat("0", 64), hexSize)
	first, hash := e.finishRecord(&[32]byte{})
	good := bytes.Clone(first)
	e.beginRecord(2, time.Unix(0, 0), PhaseEnd)
	e.addCall(ended("x"))
	second, _ := e.finishRecord(&hash)
	good = append(good, second...)
	f.Add(good)
	f.Add(good[:len(good)-3])
	f.Add(append(bytes.Clone(good), 0, 0, 0))
	f.Add(append(bytes.Clone(good), '\n', '\n'))
	f.Add(bytes.Repeat([]byte("x"), 3*maxLine))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := filepath.Join(quickRoot(t), "journal")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(segmentPath(dir, 1), b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(context.Background(), dir, VerifyOptions{}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			j, err := Open(context.Background(), Options{Dir: dir, Replica: "n1"})
			if err != nil {
				t.Fatal(err)
			}
			if err := j.Append(context.Background(), started("fuzz")); err != nil {
				t.Fatal(err)
			}
			if err := j.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		all, err := ListRecords(context.Background(), dir, Filter{Call: "fuzz"})
		if err != nil || len(all) < 2 {
			t.Fatalf("%d records, %v", len(all), err)
		}
	})
}
