package bank_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/internal/agent"
	"github.com/junctor-mcp/junctor/internal/agent/rules"
	"github.com/junctor-mcp/junctor/internal/pack"
	"github.com/junctor-mcp/junctor/packs"
	"github.com/junctor-mcp/junctor/packs/bank"
)

// mind is the agent of the pack.
func mind(t *testing.T) *rules.Rules {
	t.Helper()
	all, err := pack.Gallery()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(p *pack.Pack) bool { return p.ID == "bank" })
	f, err := all[i].Fill(map[string]string{"map_server_url": "http://localhost:3001/mcp"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := rules.Parse(f.Agents[0].Brain.Rules, packs.Templates)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// counter is what the agent uses: the bank as it is, and a map that a test speaks
// for.
type counter struct {
	mu      sync.Mutex // calls come together
	t       *testing.T
	bank    *mcp.ClientSession
	geocode func(query string) agent.Result // nil: there is no map
	globe   string                          // the page of the map's own App; "" for none
	apps    bool                            // who listens shows Apps
	calls   []string
}

func open(t *testing.T, geocode func(string) agent.Result) *counter {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- bank.Serve(ctx, "1.0.0", toServer, fromServer) }()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &mcp.IOTransport{Reader: toClient, Writer: fromClient}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Close()
		_ = fromClient.Close()
		cancel()
		<-done
	})
	return &counter{t: t, bank: s, geocode: geocode}
}

func (c *counter) List(context.Context) ([]agent.Tool, error) {
	var out []agent.Tool
	for _, name := range []string{"get_accounts", "get_account", "get_transactions", "get_cards", "get_mortgage", "get_savings"} {
		out = append(out, agent.Tool{Name: "bank__" + name})
	}
	if c.geocode != nil {
		out = append(out, agent.Tool{Name: "map__geocode", Server: "map", OriginalName: "geocode"}, agent.Tool{Name: "map__show-map", Server: "map", OriginalName: "show-map", ViewURI: c.globe})
	}
	return out, nil
}

func (c *counter) Resolve(_ context.Context, call agent.Call) (agent.Tool, error) {
	return agent.Tool{Name: call.Name}, nil
}

func (c *counter) RecordRefusal(context.Context, agent.Call, error) string { return "" }

func (c *counter) Call(ctx context.Context, call agent.Call) agent.Result {
	c.mu.Lock()
	c.calls = append(c.calls, call.Name+" "+string(call.Arguments))
	c.mu.Unlock()
	if call.Name == "map__geocode" {
		var in struct{ Query string }
		_ = json.Unmarshal(call.Arguments, &in)
		return c.geocode(in.Query)
	}
	res, err := c.bank.CallTool(ctx, &mcp.CallToolParams{Name: strings.TrimPrefix(call.Name, "bank__"), Arguments: call.Arguments})
	if err != nil {
		return agent.Result{IsError: true, Text: err.Error()}
	}
	content, _ := json.Marshal(res)
	return agent.Result{IsError: res.IsError, Text: res.Content[0].(*mcp.TextContent).Text, Content: content}
}

// ask says something to the agent and gives its words and what it shows.
func (c *counter) ask(r *rules.Rules, story ...agent.Message) (string, *a2ui.Surface) {
	c.t.Helper()
	c.calls = nil
	end := agent.Run(c.t.Context(), agent.Turn{Provider: r, Tools: c, Messages: story, ShowsApps: c.apps}, func(agent.Event) {})
	if end.Outcome != agent.OutcomeDone {
		c.t.Errorf("%s: %s", end.Outcome, end.Reason)
	}
	last := end.Messages[len(end.Messages)-1]
	if len(last.Surfaces) == 0 {
		return end.Text(), nil
	}
	for _, p := range last.Surfaces[0].Check(nil) {
		c.t.Errorf("the surface %s, %s: %s", last.Surfaces[0].ID, p.Grade, p)
	}
	return end.Text(), &last.Surfaces[0]
}

func says(text string) agent.Message { return agent.Message{Role: agent.RoleUser, Text: text} }

// found is an answer of a map.
func found(place string) func(string) agent.Result {
	return func(string) agent.Result { return agent.Result{Text: place} }
}

const isleworth = "1. Tesco Extra, Mogden Lane, Isleworth, TW7 7JY\n   Coordinates: 51.459007, -0.337418\n   Bounding box: W:-0.3384, S:51.4585, E:-0.3367, N:51.4597"

// kindOf is the template that a surface was made of.
func kindOf(s *a2ui.Surface) string {
	if s == nil {
		return ""
	}
	kind, _, _ := strings.Cut(s.ID, "-")
	return kind
}

func TestIntents(t *testing.T) {
	t.Parallel()
	r, c := mind(t), open(t, found(isleworth))
	for said, want := range map[string]string{
		"Where was my Tesco transaction?":            "transaction_location",
		"where did I buy coffee at COSTA":            "transaction_location",
		"show the location of my Waterstones visit":  "transaction_location",
		"Map of Dishoom please":                      "transaction_location",
		"show me the IKEA I shopped at":              "transaction_location",
		"Show me the place where I spent at Boots":   "transaction_location",
		"Where was my Aldi transaction?":             "transaction_list",
		"show me my transactions":                    "transaction_list",
		"what have I spent lately?":                  "transaction_list",
		"show me what I spent":                       "transaction_list",
		"Show me everything I bought":                "transaction_list",
		"show me how much I spent at Tesco":          "transaction_list",
		"How much did I spend?":                      "transaction_list",
		"Where can I see my savings?":                "savings_summary",
		"where's my money?":                          "account_overview",
		"Where do I find my statement":               "credit_card_statement",
		"where are my savings?":                      "savings_summary",
		"Where was my credit card payment at Boots?": "transaction_location",
		"list my Tesco payments":                     "transaction_list",
		"how is my mortgage?":                        "mortgage_summary",
		"my credit card, please":                     "credit_card_statement",
		"when is my next statement":                  "credit_card_statement",
		"how much have I saved":                      "savings_summary",
		"savings":                                    "savings_summary",
		"show my accounts":                           "account_overview",
		"What is my balance?":                        "account_overview",
		"details of the rainy day one":               "account_detail",
		"my everyday account":                        "account_detail",
		"hello":                                      "",
		"somewhere over the rainbow":                 "", // a keyword is a word of its own
		"nowhere maps mapping relocation shows":      "",
		"I am discarded by an accredited accountant": "",
	} {
		text, shown := c.ask(r, says(said))
		if kindOf(shown) != want || text == "" {
			t.Errorf("%q shows %q, not %q: %s", said, kindOf(shown), want, text)
		}
	}
}

// The one after the other: first the bank, then the map, which is asked for the
// merchant as the bank writes it.
func TestWhereATransactionWas(t *testing.T) {
	t.Parallel()
	r, c := mind(t), open(t, found(isleworth))
	text, shown := c.ask(r, says("Where was my Tesco transaction?"))
	if text != "Here is where your most recent Tesco transaction occurred (Feb 14)." {
		t.Error(text)
	}
	if want := []string{`bank__get_transactions {"limit":200}`, `map__geocode {"query":"Tesco Superstore"}`}; !slices.Equal(c.calls, want) {
		t.Errorf("%q", c.calls)
	}
	data := dataOf(t, shown)
	if got := fmt.Sprint(data.Transaction); got != "{tx_acc_current_001_003 2026-02-14 Tesco Superstore 45.32 debit}" {
		t.Error(got)
	}
	if data.Location != (location{51.459007, -0.337418, "Tesco Extra, Mogden Lane, Isleworth, TW7 7JY"}) || data.Query != "Where was my Tesco transaction?" {
		t.Errorf("%+v", data)
	}
	if len(data.Others) != 2 || data.Others[0].Description != "Tesco Express" || data.Others[1].Description != "Tesco Extra" {
		t.Errorf("%+v", data.Others)
	}
	if !strings.Contains(fmt.Sprintf("%s", shown.Components), `"children":["txdetail","txfacts","map","more"]`) {
		t.Errorf("%s", shown.Components)
	}

	// Another one's button moves the map, on the same surface.
	c.geocode = found("1. Tesco Express, Goodge Street\n   Coordinates: 51.519560, -0.134320\n   Bounding box: W:-0.1353, S:51.5186, E:-0.1333, N:51.5206")
	press := agent.Message{Role: agent.RoleUser, Text: "pressed show_transaction", Action: &a2ui.Action{
		Surface: shown.ID, Component: "other", Name: "show_transaction", Context: json.RawMessage(`{"id":"tx_acc_current_001_008","query":"Where was my Tesco transaction?"}`),
	}}
	text, moved := c.ask(r, says("Where was my Tesco transaction?"), press)
	data = dataOf(t, moved)
	if text != "Here is where your Tesco Express transaction occurred (Feb 9)." || moved.ID != shown.ID || data.Location.Label != "Tesco Express, Goodge Street" {
		t.Errorf("%s %+v", text, data)
	}
	if len(data.Others) != 2 || data.Others[0].ID != "tx_acc_current_001_003" {
		t.Errorf("%+v", data.Others)
	}

	// One alone has no others to offer.
	text, shown = c.ask(r, says("Where was my Dishoom transaction?"))
	if text != "Here is where your Dishoom transaction occurred." || strings.Contains(string(shown.Components[0]), "more") {
		t.Errorf("%s %s", text, shown.Components[0])
	}
	// Most words that are shared decide.
	if text, _ = c.ask(r, says("where was my tesco extra purchase")); text != "Here is where your Tesco Extra transaction occurred." {
		t.Error(text)
	}
}

// Who shows Apps gets the map's own, where the map has one, with a map that is drawn
// from data to stand for it; all others that map alone. Nothing else of the answer
// differs.
func TestTheMapsOwnApp(t *testing.T) {
	t.Parallel()
	const page = "ui://cesium-map/mcp-app.html"
	r, c := mind(t), open(t, found(isleworth))
	for _, one := range []struct {
		name, page string
		apps       bool
		want       string
	}{
		{"who listens shows none", page, false, `"component":"googlemaps:MapView"`},
		{"the map has none", "", true, `"component":"googlemaps:MapView"`},
		{"the map has another", "ui://other/page.html", true, `"component":"googlemaps:MapView"`},
		{"both", page, true, `"component":"mcp:AppFrame","fallback":"place","id":"map","resourceUri":"ui://cesium-map/mcp-app.html","server":"map",` +
			`"toolInput":{"east":-0.3367,"label":"Tesco Extra, Mogden Lane, Isleworth, TW7 7JY","north":51.4597,"south":51.4585,"west":-0.3384},"toolName":"show-map"`},
	} {
		c.globe, c.apps = one.page, one.apps
		text, shown := c.ask(r, says("Where was my Tesco transaction?"))
		all := fmt.Sprintf("%s", shown.Components)
		if text != "Here is where your most recent Tesco transaction occurred (Feb 14)." || kindOf(shown) != "transaction_location" || !strings.Contains(all, one.want) || len(c.calls) != 2 {
			t.Errorf("%s: %s\n%s\n%q", one.name, text, all, c.calls)
		}
		// Who shows Apps has the other map for when it does not begin.
		if !strings.Contains(all, `"component":"googlemaps:MapView"`) || dataOf(t, shown).Location.Label == "" || len(dataOf(t, shown).Others) != 2 {
			t.Errorf("%s: %s %s", one.name, all, shown.Data)
		}
	}

	// A place that has no box is looked at from a little above.
	c.geocode = found("1. Here\n   Coordinates: 51.5, -0.25")
	if _, shown := c.ask(r, says("Where was my Dishoom transaction?")); !strings.Contains(fmt.Sprintf("%s", shown.Components), `"toolInput":{"east":-0.24,"label":"Here","north":51.51,"south":51.49,"west":-0.26}`) {
		t.Errorf("%s", shown.Components)
	}
	// Without a place there is nothing to look at.
	c.geocode = found("1. Here\n   Coordinates: 951.5, -0.25")
	if text, shown := c.ask(r, says("Where was my Dishoom transaction?")); text != noMap || kindOf(shown) != "transaction_list" {
		t.Errorf("%s %s", text, shown.Components)
	}
}

func TestUnknownPlace(t *testing.T) {
	t.Parallel()
	r := mind(t)
	const box = "\n   Bounding box: W:-0.3384, S:51.4585, E:-0.3367, N:51.4597"
	for _, c := range []struct {
		name    string
		said    string
		geocode func(string) agent.Result
		answer  string
		rows    int // of the list
	}{
		{"nothing is found", "Where was my Tesco transaction?", found(`No results found for "Tesco Superstore"`), "This transaction doesn't have a physical location: Tesco Superstore, Feb 14, £45.32.", 1},
		{"the map fails", "Where was my Tesco transaction?", func(string) agent.Result { return agent.Result{IsError: true, Text: "Geocoding error: fetch failed"} }, noMap, 3},
		{"the failure says that nothing is found", "Where was my Tesco transaction?", func(string) agent.Result { return agent.Result{IsError: true, Text: "No results found"} }, noMap, 3},
		{"there is no map", "Where was my Tesco transaction?", nil, noMap, 3},
		{"an empty answer", "Where was my Tesco transaction?", found(""), noMap, 3},
		{"nonsense", "Where was my Tesco transaction?", found(`{"lat":51,"lon":0}`), noMap, 3},
		{"no numbers", "Where was my Tesco transaction?", found("1. Here\n   Coordinates: NaN, NaN" + box), noMap, 3},
		{"null", "Where was my Tesco transaction?", found("1. Here\n   Coordinates: null, null" + box), noMap, 3},
		{"a latitude beyond the pole", "Where was my Tesco transaction?", found("1. Here\n   Coordinates: 90.000001, 0.5" + box), noMap, 3},
		{"a longitude beyond the line", "Where was my Tesco transaction?", found("1. Here\n   Coordinates: 51.5, -180.5" + box), noMap, 3},
		{"a box that is none", "Where was my Tesco transaction?", found("1. Here\n   Bounding box: W:1, S:2, E:0, N:3"), noMap, 3},
		{"another's coordinates are not its own", "Where was my Tesco transaction?", found("1. Here\n\n2. There\n   Coordinates: 51.5, 0.5"), noMap, 3},
		{"no such transaction", "Where was my Aldi transaction?", found(isleworth), "I could not find a transaction that fits that.", 10},
		{"no transaction is named", "where?", found(isleworth), "I could not find a transaction that fits that.", 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			at := open(t, c.geocode)
			text, shown := at.ask(r, says(c.said))
			if !strings.HasPrefix(text, c.answer) || kindOf(shown) != "transaction_list" || strings.Contains(fmt.Sprintf("%s", shown.Components), "MapView") {
				t.Fatalf("%s %+v", text, shown)
			}
			if rows := dataOf(t, shown).Transactions; len(rows) != c.rows {
				t.Errorf("%d transactions: %+v", len(rows), rows)
			}
		})
	}
}

const noMap = "I couldn't load the map. Here are the transaction details."

func TestTheMiddleOfABox(t *testing.T) {
	t.Parallel()
	c := open(t, found("1. Isleworth, London\n   Bounding box: W:-0.3400, S:51.4500, E:-0.3300, N:51.4700"))
	_, shown := c.ask(mind(t), says("Where was my Tesco transaction?"))
	got := dataOf(t, shown).Location
	if d := got.Latitude - 51.46; d > 1e-9 || d < -1e-9 {
		t.Errorf("%+v", got)
	}
	if d := got.Longitude + 0.335; d > 1e-9 || d < -1e-9 || got.Label != "Isleworth, London" {
		t.Errorf("%+v", got)
	}
}

type location struct {
	Latitude, Longitude float64
	Label               string
}

type transaction struct{ ID, Date, Description, Amount, Type string }

type shownData struct {
	Transaction  transaction
	Location     location
	Query        string
	Others       []transaction
	Transactions []transaction
}

func dataOf(t *testing.T, s *a2ui.Surface) (out shownData) {
	t.Helper()
	if s == nil {
		t.Fatal("nothing is shown")
	}
	if err := json.Unmarshal(s.Data, &out); err != nil {
		t.Fatalf("%s: %v", s.Data, err)
	}
	return out
}
