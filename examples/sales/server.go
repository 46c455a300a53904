package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/junctor-mcp/junctor/mcpapps"
)

//go:embed sales.html
var files embed.FS

type query struct {
	Year int `json:"year" jsonschema:"the year to report, 2020 to 2026"`
}

type report struct {
	Year     int       `json:"year"`
	Total    int       `json:"total"`
	Quarters []quarter `json:"quarters"`
	Orders   int       `json:"orders"`
}

type quarter struct {
	Name string `json:"name"`
	Sum  int    `json:"sum"`
}

type part struct {
	Year int `json:"year"`
	From int `json:"from" jsonschema:"the first order, counted from 0"`
}

type orders struct {
	From int     `json:"from"`
	Of   int     `json:"of"`
	List []order `json:"list"`
}

// newServer makes an MCP server with one App: the tool sales and the page that
// draws its result.
func newServer() (*mcp.Server, error) {
	s := mcp.NewServer(&mcp.Implementation{Name: "sales", Title: "Sales", Version: "1.0.0"}, nil)
	apps, err := mcpapps.New(s)
	if err != nil {
		return nil, err
	}
	view := &mcpapps.View{
		URI: "ui://sales/report.html", Name: "report", Title: "Sales of a year",
		Page: mcpapps.File(files, "sales.html"), TTL: time.Hour,
		Meta: mcpapps.ResourceMeta{PrefersBorder: new(true)},
	}
	return s, errors.Join(
		mcpapps.AddTool(apps, view, &mcp.Tool{Name: "sales", Title: "Sales", Description: "Reports the sales of a year by quarter."}, showSales),
		mcpapps.AddAppOnlyTool(apps, &mcp.Tool{Name: "orders", Description: "A part of the orders of a year."}, someOrders),
	)
}

// showSales is the tool. It returns a text for the model and structured content for
// the page.
func showSales(_ context.Context, _ *mcp.CallToolRequest, in query) (mcpapps.Reply[report], error) {
	all, err := ordersOf(in.Year)
	if err != nil {
		return mcpapps.Reply[report]{}, err
	}
	r := report{Year: in.Year, Orders: len(all), Quarters: []quarter{{Name: "Q1"}, {Name: "Q2"}, {Name: "Q3"}, {Name: "Q4"}}}
	for _, o := range all {
		r.Total += o.Sum
		r.Quarters[(o.Month-1)/3].Sum += o.Sum
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d: %d orders, %d in all.", in.Year, r.Orders, r.Total)
	for _, q := range r.Quarters {
		fmt.Fprintf(&text, " %s %d.", q.Name, q.Sum)
	}
	return mcpapps.Reply[report]{Text: text.String(), Data: r}, nil
}

func someOrders(_ context.Context, _ *mcp.CallToolRequest, in part) (mcpapps.Reply[orders], error) {
	const size = 8
	all, err := ordersOf(in.Year)
	if err != nil {
		return mcpapps.Reply[orders]{}, err
	}
	from := min(max(in.From, 0), len(all))
	list := all[from:min(from+size, len(all))]
	return mcpapps.Reply[orders]{
		Text: fmt.Sprintf("Orders %d to %d of %d.", from+1, from+len(list), len(all)),
		Data: orders{From: from, Of: len(all), List: list},
	}, nil
}
