package proc

import (
	"testing"
	"time"
)

func FuzzParseStat(f *testing.F) {
	const tail = " S 9875 9877 5146 0 -1 4194368 352 1291 0 1 7 3 20 5 20 0 1 0 97475 4595712 488 0 0"
	f.Add([]byte("9877 (bash)" + tail))
	f.Add([]byte("1 (a) b) ( )" + tail))
	f.Add([]byte("1 (x"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := parseStat(b); err != nil && s != (processStat{}) {
			t.Errorf("parseStat(%q) = %+v with %v", b, s, err)
		}
	})
}

func FuzzParseBusy(f *testing.F) {
	f.Add([]byte("cpu  10 1 5 1000 50 2 3 4 0 0\ncpu0 1 1 1 1"))
	f.Add([]byte("cpu"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if d, err := parseBusyTime(b); err != nil && d != 0 {
			t.Errorf("parseBusy(%q) = %v with %v", b, d, err)
		}
	})
}

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := parseStat([]byte("9877 (a) b ) S 9875 9877 5146 0 -1 4194368 352 1291 0 1 7 3 20 5 20 0 1 0 97475 4595712 488 0"))
	if want := (processStat{parent: 9875, ownTime: 100 * time.Millisecond, reapedTime: 250 * time.Millisecond, pages: 488}); err != nil || got != want {
		t.Errorf("parseStat = %+v, %v; want %+v", got, err, want)
	}
	busy, err := parseBusyTime([]byte("cpu  10 1 5 1000 50 2 3 4 9 9\n"))
	if want := 250 * time.Millisecond; err != nil || busy != want {
		t.Errorf("parseBusy = %v, %v; want %v: idle, iowait and guest time are not work", busy, err, want)
	}
}
