package redact

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func compile(t testing.TB, names ...string) *Redactor {
	t.Helper()
	r, err := Compile(names)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDetectors(t *testing.T) {
	t.Parallel()
	for detector, texts := range map[string]map[string]string{
		"email": {
			"write to ann@example.com.":              "write to [redacted].",
			"<ann.b+c@mail.example.co.uk>":           "<[redacted]>",
			"jürgen@müller.de, o'brien@x.org":        "[redacted], [redacted]",
			`{"mail":'ann@example.com'}`:             `{"mail":'[redacted]'}`,
			"https://x.org/?mail=ann%40example.com":  "https://x.org/?mail=[redacted]",
			"a@b.co@c.de":                            "[redacted]@c.de",
			"@types/node lodash@4.17.21 a@localhost": "",
			"@ann hello @ b.com x@.com":              "",
		},
		"phone": {
			"call +49 30 1234567 now":            "call [redacted] now",
			"+49 (0)30 1234567":                  "[redacted]",
			"tel:+493012345678":                  "tel:[redacted]",
			"(555) 123-4567":                     "[redacted]",
			"555-123-4567, 1-555-123-4567":       "[redacted], [redacted]",
			"0049 30 1234567":                    "[redacted]",
			"0171/1234567 or 020 7946 0958":      "[redacted] or [redacted]",
			"01 23 45 67 89":                     "[redacted]",
			"015112345678":                       "[redacted]",
			"2026-05-04T03:02:01.123456Z":        "",
			"04.05.2026 12:30, 04.05.2026 12":    "",
			"192.168.100.200 10.0.0.1":           "",
			"550e8400-e29b-41d4-a716-4466554400": "",
			"1763582720 12345678 0000012345":     "",
			"a+12345678 is x_015112345678":       "",
		},
		"iban": {
			"DE89 3704 0044 0532 0130 00 und":                    "[redacted] und",
			"GB29NWBK60161331926819":                             "[redacted]",
			"gb29 nwbk 6016 1331 9268 19":                        "[redacted]",
			"MT84MALT011000012345MTLCAST001S":                    "[redacted]",
			"FR14-2004-1010-0505-0001-3M02-606, NO9386011117947": "[redacted], [redacted]",
			"DE88370400440532013000":                             "",
			"XDE89370400440532013000":                            "",
		},
		"card": {
			"4111 1111 1111 1111 12/27":      "[redacted] 12/27",
			"card:5555555555554444.":         "card:[redacted].",
			"3782-822463-10005":              "[redacted]",
			"PAN4111111111111111":            "PAN[redacted]",
			"4222222222222 6304000000000000": "[redacted] [redacted]",
			"4111111111111112":               "",
			"0.4111111111111111":             "",
			"1763582720123456 41111":         "",
			"deadbeef4111111111111111deadbe": "",
			"123 456 789 012 345 678":        "",
		},
		"jwt": {
			"token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln_-.": "token [redacted].",
			"eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0. End":           "[redacted] End",
			"eyJ is how a token begins; eyJ.a.b":                 "",
		},
		"secrets": {
			"password=hunter2000":        "password=[redacted]",
			"Authorization: Basic abcd1": "Authorization: [redacted]",
			"plain text":                 "",
		},
		"pattern:[a-z]{3,}": {
			"abc 12 xyz": "[redacted] 12 [redacted]",
			"[redacted]": "",
			"12":         "",
		},
		`pattern:EMP-\d+`: {"EMP-12 and EMP-": "[redacted] and EMP-"},
	} {
		r := compile(t, detector)
		for in, want := range texts {
			if want == "" {
				want = in
			}
			got, changed := r.Text(in)
			if got != want || changed != (in != want) {
				t.Errorf("%s: %q became %q, want %q", detector, in, got, want)
			}
			if again, changed := r.Text(got); changed {
				t.Errorf("%s: %q is found in its own result: %q", detector, got, again)
			}
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"emial":                               `unknown detector "emial"; use secrets, email, phone, iban, card, jwt, or pattern:`,
		"":                                    "unknown detector",
		"pattern:(":                           "is not valid",
		"pattern:a*":                          "matches an empty text",
		"pattern:" + strings.Repeat("a", 1e4): "at most 1000",
	} {
		if _, err := Compile([]string{name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, want %q", name, err, want)
		}
	}
	if _, err := Compile(nil); err == nil {
		t.Error("no detector is accepted")
	}
}

// What a text costs grows with its length and not with its square, whatever it
// consists of. Were one to cost its square, this would take minutes.
func TestHostileTextsDoNotHang(t *testing.T) {
	t.Parallel()
	r := compile(t, Detectors()...)
	pieces := append(secretPieces(), "@", "a@", "@a.", "a.b", "%40", "'", "0", "1 ", "4111 ", "4111", "+1", "+49 30 ", "00", "(", "555-", "DE89", "DE89 ", "eyJ", "eyJ.", "aA1/", "é@é.")
	start := time.Now()
	for _, a := range pieces {
		for _, b := range []string{"", " ", ".", "/", "=", a, "x", "-"} {
			r.Text(strings.Repeat(a+b, (16<<10)/len(a+b)))
		}
	}
	if took := time.Since(start); took > 5*time.Minute {
		t.Errorf("took %v", took)
	}
}

// TestChooseDetectors covers texts of all kinds: no detector that would find something is left out.
func TestChooseDetectors(t *testing.T) {
	t.Parallel()
	pieces := append(secretPieces(), finds()...)
	for _, s := range finds() {
		for n := 1; n < len(s); n += 3 {
			pieces = append(pieces, s[:n], s[n:])
		}
	}
	all := make([]*Redactor, 0, len(Detectors())+1)
	for _, name := range Detectors() {
		all = append(all, compile(t, name))
	}
	all = append(all, compile(t, Detectors()...))
	found, missed := 0, 0
	check := func(t rapid.TB, text string) {
		t.Helper()
		for i, r := range all {
			if len(text) > maxShortText {
				continue
			}
			want, isFound := r.searchText(r.borrow(), []byte(text), allDetectors, appendMark)
			got, isFoundToo := r.clean(r.borrow(), []byte(text), appendMark)
			if string(got) != string(want) || isFound != isFoundToo {
				t.Fatalf("redactor %d makes %q of %q, and %q if all detectors search it", i, got, text, want)
			}
			if isFound {
				found++
			} else if r.chooseDetectors([]byte(text)) == 0 {
				missed++
			}
		}
	}
	for _, s := range finds() {
		check(t, s)
	}
	rapid.Check(t, func(rt *rapid.T) {
		check(rt, strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 5).Draw(rt, "pieces"), ""))
	})
	if found == 0 || missed == 0 {
		t.Errorf("%d found, %d not", found, missed)
	}
}
