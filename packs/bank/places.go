package bank

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

//go:embed places.json
var known []byte

// place is one known place. It matches the words of its name and some more.
type place struct {
	Name string     `json:"name"`
	Also string     `json:"also,omitempty"`
	Lat  float64    `json:"lat"`
	Lon  float64    `json:"lon"`
	Box  [4]float64 `json:"box"` // west, south, east, north
}

type search struct {
	Query string `json:"query" jsonschema:"the name of a place or a shop"`
}

// ServePlaces runs a stand-in for a geocoder over a reader and a writer until
// its client leaves or ctx ends. It has the tool geocode, which answers in the
// form of @modelcontextprotocol/server-map, with a fixed list of places in
// Great Britain, enough for the demonstration without a network.
func ServePlaces(ctx context.Context, version string, in io.Reader, out io.Writer) error {
	s, err := newPlaces(version)
	if err != nil {
		return err
	}
	return serveOver(ctx, s, in, out)
}

// newPlaces makes the MCP server of the stand-in over the embedded places.
func newPlaces(version string) (*mcp.Server, error) {
	var all []place
	if err := json.Unmarshal(known, &all); err != nil {
		return nil, fmt.Errorf("the places cannot be read: %w", err)
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "places", Title: "Places (offline stand-in)", Version: version}, &mcp.ServerOptions{
		Instructions: "A stand-in for a geocoder: it knows a few places in Great Britain and uses no network. Use it for demonstrations only.",
	})
	closed := false
	mcp.AddTool(s, &mcp.Tool{
		Name: "geocode", Title: "Geocode (offline stand-in)",
		Description: "Finds the place of a merchant. This is a stand-in for a geocoder: it knows a few places in Great Britain, uses no network, and returns no results for others.",
		Annotations: &mcp.ToolAnnotations{Title: "Geocode (offline stand-in)", ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed},
	}, func(_ context.Context, _ *mcp.CallToolRequest, in search) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: findPlaces(all, in.Query)}}}, nil, nil
	})
	return s, nil
}

// mostPlaces bounds the listed places.
const mostPlaces = 5

// findPlaces returns the places that match every word of the query, in the form of
// the map server.
func findPlaces(all []place, query string) string {
	wanted := splitWords(query)
	var found []string
	for _, p := range all {
		has := splitWords(p.Name + " " + p.Also)
		missing := slices.ContainsFunc(wanted, func(w string) bool { return !slices.Contains(has, w) })
		if len(wanted) == 0 || missing || len(found) == mostPlaces {
			continue
		}
		found = append(found, fmt.Sprintf("%d. %s\n   Coordinates: %.6f, %.6f\n   Bounding box: W:%.4f, S:%.4f, E:%.4f, N:%.4f",
			len(found)+1, p.Name, p.Lat, p.Lon, p.Box[0], p.Box[1], p.Box[2], p.Box[3]))
	}
	if len(found) == 0 {
		return `No results found for "` + query + `"`
	}
	return strings.Join(found, "\n\n")
}

func splitWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
