// Package bank holds the servers of the pack packs/bank.yaml: an MCP server
// with the accounts of a fictitious customer, and a stand-in for a geocoder
// that needs no network. Both speak over standard input and output:
// internal/cli runs them as `junctor bank`, and instances start that as they
// start any other command. The surfaces of the agent are in templates;
// internal/agent/rules fills them in.
package bank

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

//go:embed data.json
var data []byte

// ledger is the data of the bank. Its days are fixed, so that a question has
// the same answer every day.
type ledger struct {
	Accounts     []account                `json:"accounts"`
	Cards        []card                   `json:"cards"`
	Mortgage     mortgage                 `json:"mortgage"`
	Savings      []savings                `json:"savings"`
	Transactions map[string][]transaction `json:"transactions"` // by account
}

type account struct {
	ID       string `json:"id"`
	Type     string `json:"type" jsonschema:"current, savings, credit or mortgage"`
	Name     string `json:"name"`
	Balance  string `json:"balance" jsonschema:"below zero where money is owed"`
	Currency string `json:"currency"`
	Number   string `json:"number" jsonschema:"the last digits alone"`
	SortCode string `json:"sortCode,omitempty"`
}

type transaction struct {
	ID          string `json:"id"`
	Date        string `json:"date" jsonschema:"as year-month-day"`
	Description string `json:"description" jsonschema:"the merchant, or what it was for"`
	Amount      string `json:"amount"`
	Currency    string `json:"currency" jsonschema:"that of its account"`
	Type        string `json:"type" jsonschema:"debit or credit"`
}

type card struct {
	ID             string `json:"id" jsonschema:"the id of its account"`
	Name           string `json:"name"`
	Number         string `json:"number" jsonschema:"masked"`
	Balance        string `json:"balance" jsonschema:"what is owed"`
	Currency       string `json:"currency"`
	Limit          string `json:"limit"`
	Available      string `json:"available"`
	MinimumPayment string `json:"minimumPayment"`
	DueDate        string `json:"dueDate"`
	StatementDate  string `json:"statementDate"`
}

type mortgage struct {
	ID             string `json:"id"`
	Name           string `json:"name"`
	Address        string `json:"address"`
	Outstanding    string `json:"outstanding"`
	Original       string `json:"original"`
	Currency       string `json:"currency"`
	MonthlyPayment string `json:"monthlyPayment"`
	Rate           string `json:"rate" jsonschema:"percent a year"`
	RateType       string `json:"rateType"`
	NextPayment    string `json:"nextPayment"`
	TermEnd        string `json:"termEnd"`
}

type savings struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Balance  string `json:"balance"`
	Currency string `json:"currency"`
	Rate     string `json:"rate" jsonschema:"percent a year"`
	Earned   string `json:"earned" jsonschema:"interest of the last year"`
	Goal     string `json:"goal,omitempty"`
}

// Arguments and results.
type (
	nothing    struct{}
	oneAccount struct {
		ID string `json:"id" jsonschema:"as get_accounts has it"`
	}
	which struct {
		Account string `json:"account,omitempty" jsonschema:"the id of an account; without it, all"`
		Query   string `json:"query,omitempty" jsonschema:"a part of the description"`
		Limit   int    `json:"limit,omitempty" jsonschema:"how many, newest first; 50 without it"`
	}
	accountList struct {
		Accounts []account `json:"accounts"`
		Total    string    `json:"total" jsonschema:"of all balances"`
		Currency string    `json:"currency"`
	}
	transactionList struct {
		Transactions []transaction `json:"transactions"`
		Count        int           `json:"count" jsonschema:"of all that fit, also of those beyond the limit"`
	}
	cardList struct {
		Cards []card `json:"cards"`
	}
	savingsList struct {
		Savings []savings `json:"savings"`
	}
)

// Serve runs the bank over a reader and a writer until its client leaves or ctx
// ends.
func Serve(ctx context.Context, version string, in io.Reader, out io.Writer) error {
	s, err := newBank(version)
	if err != nil {
		return err
	}
	return serveOver(ctx, s, in, out)
}

func serveOver(ctx context.Context, s *mcp.Server, in io.Reader, out io.Writer) error {
	err := s.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: keepOpen{out}})
	if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// keepOpen hides the Close of a writer from the MCP transport, because the
// caller owns the writer.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// newBank makes the MCP server over the embedded data.
func newBank(version string) (*mcp.Server, error) {
	var b ledger
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, fmt.Errorf("the data of the bank cannot be read: %w", err)
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "bank", Title: "Bank", Version: version}, &mcp.ServerOptions{
		Instructions: "The accounts of somebody who does not exist, in February 2026. Nothing can be changed.",
	})
	addReadOnlyTool(s, "get_accounts", "Accounts", "Lists the accounts with their balances.", b.listAccounts)
	addReadOnlyTool(s, "get_account", "Account", "Gives one account by its id.", b.findAccount)
	addReadOnlyTool(s, "get_transactions", "Transactions", "Lists transactions, payments and purchases, newest first: of one account or of all, and those alone whose description has a text.", b.listTransactions)
	addReadOnlyTool(s, "get_cards", "Credit cards", "Lists the credit cards with what is owed and when it is due.", b.listCards)
	addReadOnlyTool(s, "get_mortgage", "Mortgage", "Gives the mortgage: what is owed, the rate, the payments.", b.readMortgage)
	addReadOnlyTool(s, "get_savings", "Savings", "Lists the savings with their interest.", b.listSavings)
	return s, nil
}

// addReadOnlyTool adds a read-only tool that needs no network.
func addReadOnlyTool[In, Out any](s *mcp.Server, name, title, about string, do func(In) (Out, error)) {
	closed := false
	mcp.AddTool(s, &mcp.Tool{
		Name: name, Title: title, Description: about,
		Annotations: &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed},
	}, func(_ context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		out, err := do(in)
		return nil, out, err
	})
}

func (b *ledger) listAccounts(nothing) (accountList, error) {
	total := 0
	for _, a := range b.Accounts {
		n, err := parsePence(a.Balance)
		if err != nil {
			return accountList{}, err
		}
		total += n
	}
	return accountList{Accounts: b.Accounts, Total: formatPounds(total), Currency: "GBP"}, nil
}

func (b *ledger) findAccount(in oneAccount) (account, error) {
	if i := slices.IndexFunc(b.Accounts, func(a account) bool { return a.ID == in.ID }); i >= 0 {
		return b.Accounts[i], nil
	}
	return account{}, b.unknownAccount(in.ID)
}

func (b *ledger) unknownAccount(id string) error {
	ids := make([]string, 0, len(b.Accounts))
	for _, a := range b.Accounts {
		ids = append(ids, a.ID)
	}
	return fmt.Errorf("there is no account %q; there are %s", id, strings.Join(ids, ", "))
}

// defaultTransactions is the default number of listed transactions.
const defaultTransactions = 50

// listTransactions lists transactions that match, newest first.
func (b *ledger) listTransactions(in which) (transactionList, error) {
	if _, err := b.findAccount(oneAccount{in.Account}); in.Account != "" && err != nil {
		return transactionList{}, err
	}
	if in.Limit < 0 {
		return transactionList{}, fmt.Errorf("limit is %d: it is a number from 1 on", in.Limit)
	}
	out := transactionList{Transactions: []transaction{}}
	for _, a := range b.Accounts { // in their order, so that equal days stay as they are
		if in.Account != "" && a.ID != in.Account {
			continue
		}
		for _, t := range b.Transactions[a.ID] {
			if strings.Contains(strings.ToLower(t.Description), strings.ToLower(strings.TrimSpace(in.Query))) {
				t.Currency = a.Currency
				out.Transactions = append(out.Transactions, t)
			}
		}
	}
	slices.SortStableFunc(out.Transactions, func(x, y transaction) int { return strings.Compare(y.Date, x.Date) })
	out.Count = len(out.Transactions)
	limit := in.Limit
	if limit == 0 {
		limit = defaultTransactions
	}
	out.Transactions = out.Transactions[:min(limit, out.Count)]
	return out, nil
}

func (b *ledger) listCards(nothing) (cardList, error) { return cardList{b.Cards}, nil }

func (b *ledger) readMortgage(nothing) (mortgage, error) { return b.Mortgage, nil }

func (b *ledger) listSavings(nothing) (savingsList, error) { return savingsList{b.Savings}, nil }
