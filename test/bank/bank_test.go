package bank

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

const (
	question = "Where was my Tesco transaction?"
	noMap    = "I couldn't load the map. Here are the transaction details."
	recent   = "Here is where your most recent Tesco transaction occurred (Feb 14)."
)

// The agent, its bank and the map server that people run: what the geocoder says
// is on the map, or there is none and a sentence that says why.
func TestTheMap(t *testing.T) {
	t.Parallel()
	geocoder := newNominatim(t)
	addr := program.FreeAddr(t)
	server := mapServer(t, addr, geocoder)
	s := openScene(t, "map_server_url=http://"+addr+"/mcp")

	geocoder.setAnswer(answerPlaces(placeAt("Tesco Extra, Mogden Lane, Isleworth, TW7 7JY", "51.4590070", "-0.3374180"), placeAt("Elsewhere", "1", "2")))
	text, shown := s.askBank(textMessage(question))
	got := dataOf(t, shown)
	if text != recent || kindOf(shown) != "transaction_location" || got.Transaction != (transaction{"tx_acc_current_001_003", "2026-02-14", "Tesco Superstore", "45.32", "debit"}) {
		t.Errorf("%s %+v", text, got)
	}
	if got.Location == nil || *got.Location != (location{51.459007, -0.337418, "Tesco Extra, Mogden Lane, Isleworth, TW7 7JY"}) || !slices.Equal(geocoder.questions(), []string{"Tesco Superstore"}) {
		t.Errorf("%+v, asked for %q", got.Location, geocoder.questions())
	}
	s.checkRecorded(t, "map/geocode", "bank/get_transactions")

	geocoder.setAnswer(answerPlaces(placeAt("Tesco Express, Goodge Street, London", "51.51956", "-0.13432")))
	text, moved := s.askBank(textMessage(question), pressMessage(shown, "show_transaction", fmt.Sprintf(`{"id":%q,"query":%q}`, got.Others[0].ID, question)))
	got = dataOf(t, moved)
	if text != "Here is where your Tesco Express transaction occurred (Feb 9)." || moved.ID != shown.ID || got.Location == nil || got.Location.Latitude != 51.51956 || len(got.Others) != 2 {
		t.Errorf("%s %+v", text, got)
	}

	for _, c := range []struct {
		name   string
		say    func(http.ResponseWriter, *http.Request)
		answer string
		rows   int
	}{
		{"nothing is found", answerPlaces(), "This transaction doesn't have a physical location", 1},
		{"the geocoder fails", answerRaw(http.StatusServiceUnavailable, "no"), noMap, 3},
		{"it answers with no JSON", answerRaw(http.StatusOK, "<html>"), noMap, 3},
		{"it answers with no list", answerRaw(http.StatusOK, `{"error":"odd"}`), noMap, 3},
		{"a latitude that is none", answerPlaces(placeAt("X", "north", "0.1")), noMap, 3},
		{"coordinates that are null", answerPlaces(placeAt("X", nil, nil)), noMap, 3},
		{"a latitude beyond the pole", answerPlaces(placeAt("X", "951.4", "0.1")), noMap, 3},
		{"a longitude beyond the line", answerPlaces(placeAt("X", "51.4", "-180.1")), noMap, 3},
		{"a place without a box", answerRaw(http.StatusOK, `[{"display_name":"X","lat":"1","lon":"1"}]`), noMap, 3},
	} {
		geocoder.setAnswer(c.say)
		text, shown := s.askBank(textMessage(question))
		rows := dataOf(t, shown)
		if !strings.HasPrefix(text, c.answer) || kindOf(shown) != "transaction_list" || rows.Location != nil || len(rows.Transactions) != c.rows {
			t.Errorf("%s: %s %s", c.name, text, shown.Data)
		}
	}

	// A geocoder that is slow costs this question its map, and nobody else anything.
	geocoder.setAnswer(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	slow := make(chan string, 1)
	go func() {
		text, shown := s.askBank(textMessage(question))
		slow <- text + " " + kindOf(shown)
	}()
	poll.Until(t, "a question to the geocoder", patience, func() bool { return len(geocoder.questions()) > 0 })
	if text, shown := s.askBank(textMessage("show my accounts")); kindOf(shown) != "account_overview" {
		t.Errorf("while the map is slow: %s", text)
	}
	select {
	case text := <-slow:
		t.Errorf("the slow map was not waited for: %s", text)
	default:
	}
	if text := <-slow; text != noMap+" transaction_list" {
		t.Errorf("slow: %s", text)
	}

	server.Kill()
	if text, shown := s.askBank(textMessage(question)); text != noMap || kindOf(shown) != "transaction_list" {
		t.Errorf("stopped: %s", text)
	}
	geocoder.setAnswer(answerPlaces(placeAt("Tesco Extra", "51.459", "-0.3374")))
	mapServer(t, addr, geocoder)
	for began := time.Now(); text != recent; {
		if text, _ = s.askBank(textMessage(question)); text != recent && time.Since(began) > patience {
			t.Fatalf("the map server is back, and the bank says: %s", text)
		}
	}
	t.Log("figure: server-map 2.0.3 through the gateway: found, moved, not found, failing, nine kinds of invalid input, slow, stopped and restarted; no response was missing")
}

// checkRecorded holds that the newest calls of the agent are these, the last first.
func (s *scene) checkRecorded(t *testing.T, want ...string) {
	t.Helper()
	got, err := s.Request(t.Context(), http.MethodGet, "/api/v1/calls?agent=bank&limit=2", "")
	var page struct{ Items []junctor.Call }
	if err == nil {
		err = json.Unmarshal([]byte(got.Body), &page)
	}
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	for _, c := range page.Items {
		calls = append(calls, c.Server+"/"+c.Name)
		if c.Status != junctor.StatusSuccess || c.EntryPoint != junctor.EntryTurn {
			t.Errorf("%+v", c)
		}
	}
	if !slices.Equal(calls, want) {
		t.Errorf("on record are %q", calls)
	}
}

// Without a map there is no map: all else of the bank works.
func TestWithoutAMap(t *testing.T) {
	t.Parallel()
	s := openScene(t)
	text, shown := s.askBank(textMessage(question))
	if rows := dataOf(t, shown).Transactions; text != noMap || kindOf(shown) != "transaction_list" || len(rows) != 3 {
		t.Errorf("%s %+v", text, rows)
	}
	text, shown = s.askBank(textMessage("Where was my Aldi transaction?"))
	if rows := dataOf(t, shown).Transactions; !strings.HasPrefix(text, "I could not find a transaction that fits that.") || len(rows) != 10 {
		t.Errorf("%s %+v", text, rows)
	}
	for said, want := range map[string]string{
		"show my accounts":      "account_overview",
		"my everyday account":   "account_detail",
		"my credit card":        "credit_card_statement",
		"how is my mortgage?":   "mortgage_summary",
		"how much have I saved": "savings_summary",
		"my transactions":       "transaction_list",
		"sing":                  "",
	} {
		if text, shown := s.askBank(textMessage(said)); kindOf(shown) != want || text == "" {
			t.Errorf("%q: %s %q", said, text, kindOf(shown))
		}
	}
	_, list := s.askBank(textMessage("show my accounts"))
	text, shown = s.askBank(textMessage("show my accounts"), pressMessage(list, "show_account", `{"id":"acc_savings_001"}`))
	if kindOf(shown) != "account_detail" || !strings.Contains(text, "Rainy day savings") {
		t.Errorf("%s %+v", text, shown)
	}
}

// The agent is published: its card, which needs no key, names the catalogs for
// each version of A2UI, and reads as a card of today and as one of before.
func TestTheCard(t *testing.T) {
	t.Parallel()
	s := openScene(t)
	for _, path := range []string{"/.well-known/agent-card.json", "/a2a/bank/.well-known/agent-card.json"} {
		got, err := s.Request(t.Context(), http.MethodGet, path, "", "Authorization:")
		if err != nil || got.Status != http.StatusOK {
			t.Fatalf("%s: %d %s %v", path, got.Status, got.Body, err)
		}
		var card struct {
			Name                string
			SupportedInterfaces []struct{ URL, ProtocolBinding, ProtocolVersion string }
			ProtocolVersion     string
			URL                 string
			PreferredTransport  string
			Capabilities        struct {
				Extensions []struct {
					URI    string
					Params struct{ SupportedCatalogIDs []string }
				}
			}
		}
		if err := json.Unmarshal([]byte(got.Body), &card); err != nil {
			t.Fatal(err)
		}
		if len(card.SupportedInterfaces) == 0 || card.SupportedInterfaces[0].ProtocolVersion != "1.0" || !strings.HasSuffix(card.SupportedInterfaces[0].URL, "/a2a/bank/") {
			t.Errorf("%s, as a card of today: %s", path, got.Body)
		}
		if !strings.HasPrefix(card.ProtocolVersion, "0.3") || !strings.HasSuffix(card.URL, "/a2a/bank/") || card.PreferredTransport != "JSONRPC" {
			t.Errorf("%s, as a card of before: %s", path, got.Body)
		}
		catalogs := map[string][]string{}
		for _, e := range card.Capabilities.Extensions {
			catalogs[e.URI] = e.Params.SupportedCatalogIDs
		}
		for version, basic := range map[string]string{
			"v0.8": "v0_8/standard_catalog_definition.json",
			"v0.9": "v0_9/catalogs/basic/catalog.json",
			"v1.0": "v1_0/catalogs/basic/catalog.json",
		} {
			want := []string{"https://a2ui.org/specification/" + basic, "https://aibank.local/catalogs/banking-v1.json", "https://aibank.local/catalogs/googlemaps-v1.json"}
			if got := catalogs["https://a2ui.org/a2a-extension/a2ui/"+version]; !slices.Equal(got, want) {
				t.Errorf("%s, A2UI %s: %q", path, version, got)
			}
		}
	}
}

// The demonstration has the bank, with a stand-in for the map that says what it is.
func TestDemo(t *testing.T) {
	t.Parallel()
	addr, dir := program.FreeAddr(t), t.TempDir()
	program.Serve(t, addr, []string{"JUNCTOR_ADMIN_KEY=" + program.AdminKey}, program.Binary(t), "demo", "--listen", addr, "--data-dir", dir)
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), program.Binary(t), append(args, "--data-dir", filepath.Join(dir, "demo"))...)
		cmd.Env = program.Env()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("junctor %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	card, err := http.Get("http://" + addr + "/.well-known/agent-card.json")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = card.Body.Close() }()
	if text, _ := io.ReadAll(card.Body); card.StatusCode != http.StatusOK || !strings.Contains(string(text), "/a2a/bank/") || !strings.Contains(string(text), "googlemaps-v1.json") {
		t.Errorf("the card: %d %s", card.StatusCode, text)
	}
	for said, answer := range map[string]string{
		question:                                 "bank: " + recent,
		"Where was my Direct Debit transaction?": "bank: This transaction doesn't have a physical location",
		"@bank how is my mortgage?":              "bank: You owe £164,250.90",
		"@clerk what is 2 plus 40?":              "clerk: That makes **42**.",
	} {
		if out := run("room", "say", "Lobby", said); !strings.Contains(out, answer) {
			t.Errorf("%q: %s\nwant %q", said, out, answer)
		}
	}
	if out := run("server", "show", "map"); !strings.Contains(out, "stand-in") {
		t.Errorf("the map does not say what it is:\n%s", out)
	}

	// Another bank beside it shares its servers; it has the map that is there.
	fails := func(want string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program.Binary(t), append(args, "--yes", "--data-dir", filepath.Join(dir, "demo"))...)
		cmd.Env = program.Env()
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("junctor %q: %v\n%s\nwant %q", args, err, out, want)
		}
	}
	fails(`an agent "bank" already exists; choose another name for this one in names (--as bank=NAME)`, "pack", "add", "bank")
	fails(`another server "map" already exists`, "pack", "add", "bank", "--as", "bank=branch", "--answer", "map_server_url=http://127.0.0.1:1/mcp")
	fails("the server bank cannot be renamed", "pack", "add", "bank", "--as", "server/bank=other")
	if out := run("pack", "add", "bank", "--as", "bank=branch", "--yes"); !strings.Contains(out, "bank exists already, and is used unchanged") || !strings.Contains(out, "added the agent branch") {
		t.Errorf("beside the demo's: %s", out)
	}
	if out := run("agent", "run", "branch", question); !strings.Contains(out, recent) {
		t.Errorf("the other bank: %s", out)
	}
}

// TestTheDocument does what docs/guides/bank.md says from its top to its bottom, where it needs
// the map server.
func TestTheDocument(t *testing.T) {
	t.Parallel()
	s := openScene(t)
	if text, _ := s.askBank(textMessage(question)); text != noMap {
		t.Errorf("without a map: %s", text)
	}
	geocoder := newNominatim(t)
	geocoder.setAnswer(answerPlaces(placeAt("Tesco Extra, Mogden Lane, Isleworth, TW7 7JY", "51.4590070", "-0.3374180")))
	addr := program.FreeAddr(t)
	mapServer(t, addr, geocoder)
	address := "MAP_SERVER_URL=http://" + addr + "/mcp"
	if _, errs, code := s.OperateWith(t, []string{address}, "pack", "add", "bank", "--as", "bank=bank-map"); code != 0 || !strings.Contains(errs, "as the variable MAP_SERVER_URL says") || !strings.Contains(errs, "added map") {
		t.Fatalf("with the variable: %d %s", code, errs)
	}
	if out, errs, code := s.Operate(t, "agent", "run", "bank-map", question); code != 0 || !strings.Contains(out, recent) {
		t.Errorf("with a map: %d %s%s", code, out, errs)
	}
	// A pack of somebody else's reads no variable.
	file := filepath.Join(t.TempDir(), "other.yaml")
	other := "{pack: other, title: Other, summary: Other, questions: [{name: key, title: Key, example: x, env: CANARY}], servers: {other: {url: 'http://" + addr + "/${key}'}}}"
	if err := os.WriteFile(file, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := s.OperateWith(t, []string{"CANARY=secret-canary"}, "pack", "add", file); code == 0 || strings.Contains(errs, "secret-canary") || !strings.Contains(errs, "requires answers to key") {
		t.Errorf("a file reads a variable: %d %s", code, errs)
	}
}
