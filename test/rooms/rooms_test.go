// Package rooms talks with agents in rooms of a whole instance: agents that
// answer by rules over the built-in servers, the official clients of AG-UI and of
// chat completions, the demonstration's room, and an instance that is killed in
// the middle.
package rooms

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/agui"
	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

const (
	adder  = `{"name":"adder","tools":["demo/add","demo/slow"],"brain":{"rules":"intents:\n  - match: '(?P<a>\\d+) and (?P<b>\\d+)'\n    calls:\n      - tool: demo__add\n        arguments: {a: '{{a|number}}', b: '{{b|number}}'}\n        take: {sum: $.sum}\n    say: 'It is {{sum}}.'\n  - match: 'take your time'\n    calls:\n      - tool: demo__slow\n        arguments: {steps: 50, delay_ms: 1000}\n    say: 'That took long.'\nfallback: 'Give me two numbers.'\n"}}`
	parrot = `{"name":"parrot","tools":["demo/echo"],"brain":{"rules":"intents:\n  - match: 'say (?P<what>.+)'\n    calls:\n      - tool: demo__echo\n        arguments: {text: '{{what}}'}\n    say: 'It said {{what}}.'\n  - match: 'add'\n    calls:\n      - tool: demo__add\n        arguments: {a: 1, b: 2}\n    say: 'added'\nfallback: 'Polly.'\n"}}`
)

// instance is one with two agents and a room of them.
type instance struct {
	*testing.T
	*program.Instance
	room string
}

func (i *instance) ask(want int, method, path, body string) string {
	i.Helper()
	a, err := i.Request(i.Context(), method, "/api/v1"+path, body)
	if err != nil || a.Status != want {
		i.Fatalf("%s %s: %d, %v\n%s", method, path, a.Status, err, a.Body)
	}
	return a.Body
}

// make makes the room, with its two agents and what others it is given.
func (i *instance) make(policy string, others ...string) {
	i.Helper()
	i.ask(201, "POST", "/agents", adder)
	i.ask(201, "POST", "/agents", parrot)
	members := `{"agent":"adder"},{"agent":"parrot"}`
	for _, one := range others {
		members += `,{"agent":"` + one + `"}`
	}
	var made junctor.Room
	if err := json.Unmarshal([]byte(i.ask(201, "POST", "/rooms", `{"name":"Den","policy":"`+policy+`","members":[`+members+`]}`)), &made); err != nil {
		i.Fatal(err)
	}
	i.room = made.ID
}

// say says something and gives what the room told of it.
func (i *instance) say(run, text string) []agui.Event {
	i.Helper()
	body := fmt.Sprintf(`{"threadId":%q,"runId":%q,"messages":[{"id":"m-%s","role":"user","content":%q}]}`, i.room, run, run, text)
	var out []agui.Event
	for line := range strings.SplitSeq(i.ask(200, "POST", "/rooms/"+i.room+"/runs", body), "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var e agui.Event
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				i.Fatal(err)
			}
			out = append(out, e)
		}
	}
	return out
}

// messages are what was said, a line for each.
func (i *instance) messages() string {
	i.Helper()
	var page struct{ Items []junctor.Message }
	if err := json.Unmarshal([]byte(i.ask(200, "GET", "/rooms/"+i.room+"/messages?sort=at", "")), &page); err != nil {
		i.Fatal(err)
	}
	var lines []string
	for _, m := range page.Items {
		line := m.Author.Name + ": " + m.Text
		for _, c := range m.Calls {
			line += " [" + c.Name + " " + string(c.State) + "]"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestRoom(t *testing.T) {
	i := &instance{T: t, Instance: program.Start(t, program.FreeAddr(t), t.TempDir())}
	i.make("router")
	events := i.say("r1", "@adder what are 2 and 40?")
	if last := events[len(events)-1]; last.Type != agui.RunFinished || last.Outcome.Type != agui.OutcomeSuccess {
		t.Errorf("%+v", last)
	}
	i.say("r2", "@parrot say hello")
	i.say("r3", "@parrot add") // a tool that it has not, whatever its rules say
	said := i.messages()
	for _, want := range []string{"adder: It is 42.", "[demo__add done]", "parrot: It said hello.", "[demo__echo done]"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q was not said:\n%s", want, said)
		}
	}
	if strings.Count(said, "demo__add done") != 1 || strings.Contains(said, "parrot: added") {
		t.Errorf("the parrot used a tool of the adder's:\n%s", said)
	}
	if found := i.ask(200, "GET", "/rooms/"+i.room+"/search?q=IT+IS+42", ""); !strings.Contains(found, "It is 42.") {
		t.Errorf("not found: %s", found)
	}
	if text := i.ask(200, "GET", "/rooms/"+i.room+"/export", ""); !strings.Contains(text, "# Den") || !strings.Contains(text, "It is 42.") {
		t.Errorf("exported: %s", text)
	}
	if out, errs, code := i.Operate(t, "room", "say", "Den", "@adder 3 and 4"); code != 0 || !strings.Contains(out, "adder: It is 7.") {
		t.Errorf("room say: %d\n%s%s", code, out, errs)
	}

	client := openai.NewChatCompletionService(option.WithBaseURL(i.URL+"/a/adder/v1"), option.WithAPIKey(program.AdminKey), option.WithMaxRetries(0))
	ask := openai.ChatCompletionNewParams{Model: "adder", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("what are 5 and 6?")}}
	whole, err := client.New(t.Context(), ask)
	if err != nil || whole.Choices[0].Message.Content != "It is 11." || whole.Choices[0].FinishReason != "stop" {
		t.Errorf("the official client: %+v, %v", whole, err)
	}
	stream := client.NewStreaming(t.Context(), ask)
	var acc openai.ChatCompletionAccumulator
	for stream.Next() {
		acc.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil || len(acc.Choices) != 1 || acc.Choices[0].Message.Content != "It is 11." {
		t.Errorf("the official client, streaming: %+v, %v", acc.Choices, err)
	}
}

// What the instance was killed in the middle of is marked as lost, and nothing
// is answered twice.
func TestKilled(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { killed(t) })
	t.Run("postgres", func(t *testing.T) {
		pg, err := pgtest.Start(pgtest.Options{})
		pgtest.Need(t, err)
		t.Cleanup(pg.Stop)
		killed(t, "--db", pg.Database(t))
	})
}

func killed(t *testing.T, args ...string) {
	t.Helper()
	addr, data := program.FreeAddr(t), t.TempDir()
	i := &instance{T: t, Instance: program.Start(t, addr, data, args...)}
	i.make("addressed")
	go func() { // it is cut off
		_, _ = i.Request(t.Context(), "POST", "/api/v1/rooms/"+i.room+"/runs", `{"threadId":"","runId":"r1","messages":[{"id":"m1","role":"user","content":"@adder take your time"}]}`)
	}()
	if !poll.Holds(time.Minute, func() bool { return strings.Contains(i.messages(), "[demo__slow running]") }) {
		t.Fatalf("it was not called:\n%s", i.messages())
	}
	i.Kill()
	i.Instance = program.Start(t, addr, data, args...)
	said := i.messages()
	if !strings.Contains(said, "@adder take your time") || !strings.Contains(said, "[demo__slow lost]") || !strings.Contains(said, "room: The instance stopped during this run") {
		t.Errorf("the room has\n%s", said)
	}
	if shown := i.ask(200, "GET", "/rooms/"+i.room, ""); !strings.Contains(shown, `"state":"lost"`) {
		t.Errorf("%s", shown)
	}
	i.ask(409, "POST", "/rooms/"+i.room+"/runs", `{"threadId":"","runId":"r1","messages":[{"id":"m1","role":"user","content":"@adder take your time"}]}`)
	i.say("r2", "@adder 1 and 2")
	if said := i.messages(); !strings.Contains(said, "adder: It is 3.") || strings.Count(said, "demo__slow") != 1 {
		t.Errorf("afterwards the room has\n%s", said)
	}
}
