package event_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/event"

	"pgregory.net/rapid"
)

func sample() *junctor.Event {
	return &junctor.Event{
		ID: "e1", Source: "chain", Type: "NewFeedback", Agent: "42", ReceivedAt: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC),
		Data: json.RawMessage(`{"score":85,"tag1":"quality","big":12345678901234567890,"yes":"true","list":[1,{"x":"y"}],"null":null,"nested":{"a b":1,"c":2.50},"text":"say \"hi\"","whole":3.0,"client_address":"0xab"}`),
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ template, want string }{
		"nothing":                              {``, `{}`},
		"a whole placeholder keeps its type":   {`{"a":"{{data.score}}","b":"{{data.list}}","c":"{{data.nested.c}}"}`, `{"a":85,"b":[1,{"x":"y"}],"c":2.50}`},
		"inside a text it is written out":      {`{"a":"{{type}}: {{data.score}} of {{data.list.1.x}} {{data.list}}"}`, `{"a":"NewFeedback: 85 of y [1,{\"x\":\"y\"}]"}`},
		"members of the event":                 {`{"a":"{{event.id}}","b":"{{id}}","c":"{{agent}}","d":"{{received_at}}","e":"{{source}}"}`, `{"a":"e1","b":"e1","c":"42","d":"2026-05-04T03:02:01Z","e":"chain"}`},
		"plain names":                          {`{"a":"{{score}}","b":"{{event_type}}","c":"{{agent_id}}","d":"{{tag1}}","e":"{{client_address}}"}`, `{"a":85,"b":"NewFeedback","c":"42","d":"quality","e":"0xab"}`},
		"types":                                {`{"a":"{{agent|integer}}","b":"{{data.score|string}}","c":"{{data.yes|boolean}}","d":"{{data.list|json}}","e":"{{data.whole|integer}}","f":"{{agent|number}}"}`, `{"a":42,"b":"85","c":true,"d":"[1,{\"x\":\"y\"}]","e":3,"f":42}`},
		"what is absent is left out":           {`{"a":"{{data.none?}}","b":["{{tag2?}}","{{tag1?}}"],"c":"x{{data.none?}}y","d":"{{data.null?}}","e":"{{tag2|integer?}}"}`, `{"b":["quality"],"c":"xy"}`},
		"numbers that lose digits are texts":   {`{"a":"{{data.big}}","b":"{{data.big|integer}}"}`, `{"a":"12345678901234567890","b":12345678901234567890}`},
		"texts are not read again":             {`{"a":"{{data.text}}","b":"{{data.text}}!"}`, `{"a":"say \"hi\"","b":"say \"hi\"!"}`},
		"braces themselves":                    {`{"a":"{{'{{'}}x}}","b":"{{'it is'}} {{id}}"}`, `{"a":"{{x}}","b":"it is e1"}`},
		"what is no text stays":                {`{"a":1.0,"b":null,"c":[true,"{{id}}"],"d":{}}`, `{"a":1.0,"b":null,"c":[true,"e1"],"d":{}}`},
		"all the data":                         {`{"a":"{{data}}"}`, `{"a":` + sortedSample + `}`},
		"spaces in a placeholder do not count": {`{"a":"{{ data.score | string }}"}`, `{"a":"85"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tmpl, err := event.ParseTemplate(json.RawMessage(c.template))
			if err != nil {
				t.Fatal(err)
			}
			got, err := tmpl.Fill(sample())
			if err != nil || string(got) != c.want {
				t.Errorf("got  %s\nwant %s, %v", got, c.want, err)
			}
		})
	}
}

// sortedSample is the data as it is written again.
const sortedSample = `{"big":12345678901234567890,"client_address":"0xab","list":[1,{"x":"y"}],"nested":{"a b":1,"c":2.50},"null":null,"score":85,"tag1":"quality","text":"say \"hi\"","whole":3.0,"yes":"true"}`

func TestTemplatesThatNeverFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ template, says string }{
		"no JSON":              {`{`, "not valid JSON"},
		"no object":            {`["{{id}}"]`, "must be an object"},
		"a member twice":       {`{"a":1,"a":2}`, "not valid JSON"},
		"an unknown name":      {`{"a":{"b":["{{nope}}"]}}`, "/a/b/0"},
		"not closed":           {`{"a":"{{id"}`, "not closed"},
		"a text not closed":    {`{"a":"{{'id}}"}`, "not closed"},
		"an empty name":        {`{"a":"{{}}"}`, "not a path"},
		"an unknown type":      {`{"a":"{{id|date}}"}`, "string, integer"},
		"an empty type":        {`{"a":"{{id|}}"}`, "string, integer"},
		"parts of what has no": {`{"a":"{{id.x}}"}`, "no members"},
		"an empty step":        {`{"a":"{{data..x}}"}`, "not a path"},
		"in a name":            {`{"{{id}}":1}`, "only in string values"},
		"braces in braces":     {`{"a":"{{ {{id}} }}"}`, "not a path"},
		"far too deep":         {`{"a":"{{data` + strings.Repeat(".x", 40) + `}}"}`, "levels deep"},
		"nested without end":   {strings.Repeat(`{"a":`, 80) + `1` + strings.Repeat(`}`, 80), "deep"},
	} {
		if _, err := event.ParseTemplate(json.RawMessage(c.template)); junctor.CodeOf(err) != junctor.CodeInvalid || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTemplatesThatDoNotFitAnEvent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ template, says string }{
		"absent":           {`{"a":{"b":"{{data.none}}"}}`, "template at /a/b: the event e1 has no data.none; write {{data.none?}}"},
		"null":             {`{"a":"{{data.null}}"}`, "has no data.null"},
		"no whole number":  {`{"a":"{{data.tag1|integer}}"}`, "is not an integer"},
		"no number":        {`{"a":"{{data.tag1|number}}"}`, "is not a number"},
		"no boolean":       {`{"a":"{{data.score|boolean}}"}`, "is not a boolean"},
		"into a text":      {`{"a":"{{data.tag1.x}}"}`, "has no data.tag1.x"},
		"beyond a list":    {`{"a":"{{data.list.2}}"}`, "has no data.list.2"},
		"a list by a name": {`{"a":"{{data.list.x}}"}`, "has no data.list.x"},
	} {
		tmpl, err := event.ParseTemplate(json.RawMessage(c.template))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tmpl.Fill(sample()); junctor.CodeOf(err) != junctor.CodeInvalid || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		lenient, err := event.ParseLenient(json.RawMessage(c.template))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lenient.Fill(sample()); (err == nil) != strings.Contains(c.says, "has no") {
			t.Errorf("%s, where what is absent is left out: %v", name, err)
		}
	}
}

// Whatever is in an event, what a template makes is JSON of the same shape, and
// what stood in the event never becomes more than a value.
func TestTemplateKeepsItsShape(t *testing.T) {
	t.Parallel()
	tmpl, err := event.ParseTemplate(json.RawMessage(`{"a":"{{data.x}}","b":"<{{data.x|string}}>","c":{"d":["{{type}}"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`{{id}}`, `"}`, `\`, "{{'", "\u2028"})).Draw(t, "text")
		data, err := json.Marshal(map[string]string{"x": text})
		if err != nil {
			t.Fatal(err)
		}
		got, err := tmpl.Fill(&junctor.Event{ID: "e", Source: "s", Type: text + "t", Data: data})
		if err != nil {
			t.Fatal(err)
		}
		var made struct {
			A, B string
			C    struct{ D []string }
		}
		if err := json.Unmarshal(got, &made); err != nil || made.A != text || made.B != "<"+text+">" || len(made.C.D) != 1 || made.C.D[0] != text+"t" {
			t.Fatalf("%q became %s (%v)", text, got, err)
		}
	})
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{`{"a":"{{id}}"}`, `{"a":"{{data.x.0|integer?}} {{'x'}}"}`, `{"a":["{{","}}"]}`, `{"a":1e999}`, `{"a":"{{data.x|json}}"}`, `{"\u0000":"{{ '\u0000' }}"}`} {
		f.Add(s, `{"x":[1,{"y":"z"}]}`)
	}
	f.Add(`{"a":"{{data.x|integer}}"}`, `{"x":"1e300"}`)
	f.Fuzz(func(t *testing.T, source, data string) {
		tmpl, err := event.ParseTemplate(json.RawMessage(source))
		if err != nil {
			return
		}
		got, err := tmpl.Fill(&junctor.Event{ID: "e", Source: "s", Type: "t", Data: json.RawMessage(data)})
		if err == nil && !json.Valid(got) {
			t.Errorf("%s with %s makes %s", source, data, got)
		}
	})
}
