// Package bank holds the pack bank to what is said of it, through a whole
// instance: the bank over stdio, the map server of npm over HTTP, and between them
// the agent. The geocoder that the map server asks is played by the test.
package bank

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/test/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// patience is how long a test waits for what must come.
const patience = 2 * time.Minute

// place is what Nominatim says of one.
type place map[string]any

func placeAt(name string, lat, lon any) place {
	return place{
		"place_id": 1, "class": "shop", "type": "supermarket", "importance": 0.1, "display_name": name, "lat": lat, "lon": lon,
		"boundingbox": []string{"51.4585", "51.4597", "-0.3384", "-0.3367"},
	}
}

// nominatim is the geocoder behind the map server.
type nominatim struct {
	*httptest.Server
	mu    sync.Mutex
	say   func(w http.ResponseWriter, r *http.Request)
	asked []string
}

func newNominatim(t *testing.T) *nominatim {
	t.Helper()
	n := &nominatim{}
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		say := n.say
		n.asked = append(n.asked, r.URL.Query().Get("q"))
		n.mu.Unlock()
		say(w, r)
	}))
	t.Cleanup(n.Close)
	return n
}

// setAnswer decides what is said from now on.
func (n *nominatim) setAnswer(say func(http.ResponseWriter, *http.Request)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.say, n.asked = say, nil
}

func (n *nominatim) questions() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string{}, n.asked...)
}

// answerPlaces answers with a list.
func answerPlaces(list ...place) func(http.ResponseWriter, *http.Request) {
	if list == nil {
		list = []place{}
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	}
}

func answerRaw(status int, text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	}
}

// mapServer starts @modelcontextprotocol/server-map on an address.
func mapServer(t *testing.T, addr string, geocoder *nominatim) *program.Process {
	t.Helper()
	node := program.FindNode(t)
	_, port, _ := net.SplitHostPort(addr)
	preload := (&url.URL{Scheme: "file", Path: filepath.ToSlash(node.Script(t, "nominatim.mjs"))}).String()
	return program.Serve(t, addr, []string{"PORT=" + port, "NOMINATIM=" + geocoder.URL}, node.Bin(), "--import", preload, node.Module("@modelcontextprotocol/server-map/dist/index.js"))
}

// scene is an instance with the pack.
type scene struct {
	*program.Instance
	t *testing.T
}

// openScene starts one. answers are those to the questions of the pack.
func openScene(t *testing.T, answers ...string) *scene {
	t.Helper()
	s := &scene{program.Start(t, program.FreeAddr(t), t.TempDir()), t}
	args := []string{"pack", "add", "bank", "--yes"}
	for _, a := range answers {
		args = append(args, "--answer", a)
	}
	if out, errs, code := s.Operate(t, args...); code != 0 {
		t.Fatalf("junctor %q: exit %d\n%s%s", args, code, out, errs)
	}
	return s
}

// textMessage is something that a person says, or presses.
func textMessage(text string) agent.Message { return agent.Message{Role: agent.RoleUser, Text: text} }

func pressMessage(on *a2ui.Surface, name, context string) agent.Message {
	return agent.Message{Role: agent.RoleUser, Text: "pressed " + name, Action: &a2ui.Action{Surface: on.ID, Name: name, Context: json.RawMessage(context)}}
}

// askBank gives the agent a turn, and gives its words and what it shows.
func (s *scene) askBank(story ...agent.Message) (string, *a2ui.Surface) {
	s.t.Helper()
	body, err := json.Marshal(admin.Talk{Messages: story})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	got, err := s.Request(ctx, http.MethodPost, "/api/v1/agents/bank/runs", string(body))
	if err != nil || got.Status != http.StatusOK {
		s.t.Fatalf("%d %s: %v", got.Status, got.Body, err)
	}
	var end admin.TurnEnd
	if err := json.Unmarshal([]byte(got.Body), &end); err != nil {
		s.t.Fatal(err)
	}
	if end.Outcome != agent.OutcomeDone {
		s.t.Errorf("%s: %s", end.Outcome, end.Reason)
	}
	last := end.Messages[len(end.Messages)-1]
	if len(last.Surfaces) == 0 {
		return end.Text, nil
	}
	return end.Text, &last.Surfaces[0]
}

// kindOf is the template that a surface was made of.
func kindOf(s *a2ui.Surface) string {
	if s == nil {
		return ""
	}
	kind, _, _ := strings.Cut(s.ID, "-")
	return kind
}

type transaction struct{ ID, Date, Description, Amount, Type string }

type location struct {
	Latitude, Longitude float64
	Label               string
}

// data is the model of a surface.
type data struct {
	Transaction  transaction
	Location     *location
	Others       []transaction
	Transactions []transaction
}

func dataOf(t *testing.T, s *a2ui.Surface) (out data) {
	t.Helper()
	if s == nil {
		t.Fatal("nothing is shown")
	}
	if err := json.Unmarshal(s.Data, &out); err != nil {
		t.Fatalf("%s: %v", s.Data, err)
	}
	return out
}
