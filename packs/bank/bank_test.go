package bank

import (
	"context"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// talk joins a client to one of the servers, as a process would be.
func talk(t *testing.T, serve func(context.Context, string, io.Reader, io.Writer) error) *mcp.ClientSession {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- serve(t.Context(), "1.0.0", toServer, fromServer) }()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: toClient, Writer: fromClient}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Close()
		_ = fromClient.Close()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("it ends with %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("it does not end when its client leaves")
		}
	})
	return s
}

func call[T any](t *testing.T, s *mcp.ClientSession, name string, arguments map[string]any) (out T) {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil || res.IsError {
		t.Fatalf("%s: %v %+v", name, err, res)
	}
	text, _ := json.Marshal(res.StructuredContent)
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func refused(t *testing.T, s *mcp.ClientSession, name string, arguments map[string]any) string {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		return err.Error()
	}
	if !res.IsError {
		t.Errorf("%s %v is answered", name, arguments)
	}
	return res.Content[0].(*mcp.TextContent).Text
}

func TestBank(t *testing.T) {
	t.Parallel()
	s := talk(t, Serve)
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		if names = append(names, tool.Name); tool.Annotations == nil || !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s does not say that it changes nothing", tool.Name)
		}
	}
	if want := []string{"get_account", "get_accounts", "get_cards", "get_mortgage", "get_savings", "get_transactions"}; !slices.Equal(names, want) {
		t.Errorf("tools %v", names)
	}

	all := call[accountList](t, s, "get_accounts", nil)
	if len(all.Accounts) != 5 || all.Total != "-147419.19" {
		t.Errorf("%d accounts, %s in all", len(all.Accounts), all.Total)
	}
	for _, a := range all.Accounts {
		if one := call[account](t, s, "get_account", map[string]any{"id": a.ID}); one != a {
			t.Errorf("%+v, not %+v", one, a)
		}
	}
	tesco := call[transactionList](t, s, "get_transactions", map[string]any{"query": " tesco "})
	if tesco.Count != 3 || tesco.Transactions[0] != (transaction{"tx_acc_current_001_003", "2026-02-14", "Tesco Superstore", "45.32", "GBP", "debit"}) {
		t.Errorf("%+v", tesco)
	}
	few := call[transactionList](t, s, "get_transactions", map[string]any{"account": "acc_credit_001", "limit": 2})
	if len(few.Transactions) != 2 || few.Count != 9 || few.Transactions[0].Description != "National Theatre" {
		t.Errorf("%+v", few)
	}
	if c := call[cardList](t, s, "get_cards", nil).Cards; len(c) != 1 || c[0].ID != "acc_credit_001" {
		t.Errorf("%+v", c)
	}
	if m := call[mortgage](t, s, "get_mortgage", nil); m.Outstanding != "164250.90" {
		t.Errorf("%+v", m)
	}
	if v := call[savingsList](t, s, "get_savings", nil).Savings; len(v) != 2 || v[0].Rate != "3.85" {
		t.Errorf("%+v", v)
	}
	for _, c := range []struct {
		name, says string
		arguments  map[string]any
	}{
		{"get_account", "there is no account", map[string]any{"id": "acc_x"}},
		{"get_transactions", "there is no account", map[string]any{"account": "acc_x"}},
		{"get_transactions", "from 1 on", map[string]any{"limit": -1}},
		{"get_transactions", "limit", map[string]any{"limit": "many"}},
	} {
		if says := refused(t, s, c.name, c.arguments); !strings.Contains(says, c.says) {
			t.Errorf("%s %v: %s", c.name, c.arguments, says)
		}
	}
}

// What the bank knows agrees with itself: ids are one of a kind, days are days,
// amounts are money, and the same sum stands wherever it is told.
func TestTheBooksAreInOrder(t *testing.T) {
	t.Parallel()
	var b ledger
	if err := json.Unmarshal(data, &b); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	balance := map[string]string{}
	for _, a := range b.Accounts {
		balance[a.ID] = a.Balance
		if _, err := parsePence(a.Balance); err != nil || seen[a.ID] {
			t.Errorf("%s: %v", a.ID, err)
		}
		seen[a.ID] = true
		for _, tx := range b.Transactions[a.ID] {
			_, bad := time.Parse(time.DateOnly, tx.Date)
			if _, err := parsePence(tx.Amount); err != nil || bad != nil || seen[tx.ID] || tx.Type != "debit" && tx.Type != "credit" || !strings.HasPrefix(tx.ID, "tx_"+a.ID) {
				t.Errorf("%+v: %v %v", tx, err, bad)
			}
			seen[tx.ID] = true
		}
	}
	if len(b.Transactions) != len(b.Accounts) {
		t.Errorf("%d accounts have transactions", len(b.Transactions))
	}
	for _, v := range b.Savings {
		if balance[v.ID] != v.Balance {
			t.Errorf("%s: %s, and %s", v.ID, v.Balance, balance[v.ID])
		}
	}
	c := b.Cards[0]
	owed, _ := parsePence(c.Balance)
	free, _ := parsePence(c.Available)
	if limit, _ := parsePence(c.Limit); balance[c.ID] != "-"+c.Balance || owed+free != limit {
		t.Errorf("%+v", c)
	}
	if balance[b.Mortgage.ID] != "-"+b.Mortgage.Outstanding {
		t.Errorf("%+v", b.Mortgage)
	}
}

func TestMoney(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0.00", "-0.05", "12.30", "-164250.90"} {
		if n, err := parsePence(text); err != nil || formatPounds(n) != text {
			t.Errorf("%s: %d, %v", text, n, err)
		}
	}
	for _, text := range []string{"", "1", "1.2", "1.234", "-", ".50", "--1.00", "1,000.00", "£1.00", "1.-1", "99999999999999999.00"} {
		if n, err := parsePence(text); err == nil {
			t.Errorf("%q is %d", text, n)
		}
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	s := talk(t, ServePlaces)
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 1 {
		t.Fatal(err, tools)
	}
	if one := tools.Tools[0]; !strings.Contains(one.Title, "stand-in") || !strings.Contains(one.Description, "stand-in") {
		t.Errorf("it does not say that it is a stand-in: %+v", one)
	}
	for query, want := range map[string]string{
		"Tesco Superstore": "1. Tesco Extra, Mogden Lane, Isleworth, TW7 7JY\n   Coordinates: 51.459007, -0.337418\n   Bounding box: W:-0.3384, S:51.4585, E:-0.3367, N:51.4597",
		"Direct Debit":     `No results found for "Direct Debit"`,
		"  ":               `No results found for "  "`,
	} {
		res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "geocode", Arguments: map[string]any{"query": query}})
		if err != nil || res.IsError || res.Content[0].(*mcp.TextContent).Text != want {
			t.Errorf("%q: %v %+v", query, err, res)
		}
	}
	var all []place
	if err := json.Unmarshal(known, &all); err != nil {
		t.Fatal(err)
	}
	if text := findPlaces(all, "London"); len(regexp.MustCompile(`(?m)^\d\. `).FindAllString(text, -1)) != mostPlaces {
		t.Errorf("%s", text)
	}
	for _, p := range all {
		if p.Box[0] >= p.Lon || p.Lon >= p.Box[2] || p.Box[1] >= p.Lat || p.Lat >= p.Box[3] || p.Lat < 49 || p.Lat > 61 || p.Lon < -8 || p.Lon > 2 {
			t.Errorf("%+v", p)
		}
	}
}
