package ocr

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	junctor "github.com/junctor-mcp/junctor"
)

const tsvSample = tsvHeader + `left	top	width	height	conf	text
1	1	0	0	0	0	0	0	560	320	-1	
2	1	1	0	0	0	40	60	290	70	-1	
3	1	1	1	0	0	40	60	290	70	-1	
4	1	1	1	1	0	40	60	290	70	-1	
5	1	1	1	1	1	40	60	290	70	90.000000	HELLO
5	1	1	1	1	2	40	60	290	70	70	"THERE"
5	1	1	1	2	1	40	60	290	70	95	 
5	1	1	2	1	1	40	60	290	70	80	SECOND
5	1	2	1	1	1	40	60	290	70	-1	unsure
5	2	1	1	1	1	40	60	290	70	100	a	b
`

func TestParseTSV(t *testing.T) {
	t.Parallel()
	got, err := parseTSV([]byte(tsvSample))
	if err != nil {
		t.Fatal(err)
	}
	want := Text{
		Text: "HELLO \"THERE\"\nSECOND\n\nunsure\n\na\tb", Confidence: 0.85,
		Lines: []string{"HELLO \"THERE\"", "SECOND", "unsure", "a\tb"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	for name, tsv := range map[string]string{
		"nothing": "", "no header": "5\t1\t1\t1\t1\t1\t0\t0\t0\t0\t90\tA\n",
		"short row":     tsvHeader + "\n5\t1\t1\n",
		"no confidence": tsvHeader + "\n5\t1\t1\t1\t1\t1\t0\t0\t0\t0\tx\tA\n",
		"not a number":  tsvHeader + "\n5\t1\t1\t1\t1\t1\t0\t0\t0\t0\tNaN\tA\n",
	} {
		if got, err := parseTSV([]byte(tsv)); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// sound says whether a text keeps what the answer's schema promises.
func sound(t interface {
	Helper()
	Errorf(string, ...any)
}, got Text,
) {
	t.Helper()
	if !utf8.ValidString(got.Text) || math.IsNaN(got.Confidence) || got.Confidence < 0 || got.Confidence > 1 || got.Lines == nil {
		t.Errorf("%+v", got)
	}
	at := 0
	for _, l := range got.Lines {
		i := strings.Index(got.Text[at:], l)
		if l == "" || strings.TrimSpace(l) != l || i < 0 {
			t.Errorf("line %q is blank, or does not follow in %q", l, got.Text)
			return
		}
		at += i + len(l)
	}
	if strings.TrimSpace(got.Text[at:]) != "" || len(got.Lines) == 0 && (got.Text != "" || got.Confidence != 0) {
		t.Errorf("the lines leave something out: %+v", got)
	}
}

func FuzzParseTSV(f *testing.F) {
	f.Add([]byte(tsvSample))
	f.Add([]byte(tsvHeader + "\n5\t1\t1\t1\t1\t1\t0\t0\t0\t0\t1e999\t\xff\x85\n"))
	f.Add([]byte(tsvHeader))
	f.Fuzz(func(t *testing.T, tsv []byte) {
		if got, err := parseTSV(tsv); err == nil {
			sound(t, got)
		}
	})
}

func FuzzVisionAnswer(f *testing.F) {
	f.Add(200, "", []byte(usualAnswer))
	f.Add(200, "", []byte(`{"responses":[{"fullTextAnnotation":{"text":"a","pages":[{"confidence":1e300},{"confidence":-1,"blocks":[{"confidence":7}]}]}}]}`))
	f.Add(200, "", []byte(`{"responses":[{"error":{"code":8}}]}`))
	f.Add(429, "99999999999", []byte(`{"error":{"status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"9999999h"}]}}`))
	f.Add(400, "", []byte(`{"error":{"message":"the SECRET API key"}}`))
	f.Fuzz(func(t *testing.T, status int, retry string, body []byte) {
		got, err := (&visionResponse{status: status, retryAfter: retry, body: body}).readText("SECRET")
		if err == nil {
			if status != http.StatusOK {
				t.Errorf("status %d became %+v", status, got)
			}
			sound(t, got)
			return
		}
		e := junctor.AsError(err)
		if e.Code == junctor.CodeInternal || strings.Contains(e.Message, "SECRET") || len(e.Message) > 2000 || e.RetryAfter < 0 || (e.Code == junctor.CodeLimited) != (e.RetryAfter > 0) {
			t.Errorf("%+v", e)
		}
	})
}

// Whatever words there are, they come out in their order, line by line.
func TestTSVKeepsEveryWord(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SliceOfN(rapid.StringMatching(`[A-Za-z0-9é.,"]{1,6}`), 1, 4), 0, 6).Draw(t, "lines")
		var b strings.Builder
		b.WriteString(tsvHeader + "left\ttop\twidth\theight\tconf\ttext\n")
		want := []string{}
		for i, words := range lines {
			for _, w := range words {
				b.WriteString("5\t1\t1\t1\t" + string(rune('a'+i)) + "\t1\t0\t0\t0\t0\t50\t" + w + "\n")
			}
			want = append(want, strings.Join(words, " "))
		}
		got, err := parseTSV([]byte(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Lines); diff != "" || got.Text != strings.Join(want, "\n") {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
		sound(t, got)
	})
}

// The answer's schema and its Go type are two texts that must say the same.
func TestTextFitsItsSchema(t *testing.T) {
	t.Parallel()
	var schema struct {
		Properties map[string]any
		Required   []string
	}
	b, err := json.Marshal(Text{})
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if json.Unmarshal(b, &members) != nil || json.Unmarshal([]byte(textSchema), &schema) != nil {
		t.Fatal("not JSON")
	}
	for _, name := range schema.Required {
		if _, ok := members[name]; !ok {
			t.Errorf("%s is missing in %s", name, b)
		}
	}
	if len(members) != len(schema.Properties) || len(members) != len(schema.Required) {
		t.Errorf("%s has other members than the schema", b)
	}
}
