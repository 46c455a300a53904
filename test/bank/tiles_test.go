package bank

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/test/program"
)

// With tiles a map opens at the scale of streets, and who gives the tiles is told from
// which site they are asked, and no more.
func TestTiles(t *testing.T) {
	t.Parallel()
	program.NeedChromium(t)
	picture, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var zooms, referrers []string
	tiles := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		zooms, referrers = append(zooms, strings.Split(r.URL.Path, "/")[1]), append(referrers, r.Header.Get("Referer"))
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(picture)
	}))
	t.Cleanup(tiles.Close)
	i := program.Start(t, program.FreeAddr(t), t.TempDir(), "--map-tiles", tiles.URL+"/{z}/{x}/{y}.png © Tiles & Co")
	c := &program.Console{Instance: i, Node: program.FindNode(t)}
	c.Tell(t, "user", "add", "ada", "--role", "admin")
	// The bank uses the map that is there.
	c.Tell(t, "server", "add", "map", "--yes", "--believe-annotations", "--", program.Binary(t), "bank", "places")
	c.Tell(t, "pack", "add", "bank", "--yes")
	link := c.Link(t, "ada")
	out, err := c.Node.Run(t, 5*time.Minute, "bank_tiles.mjs", link, question, os.Getenv("JUNCTOR_PICTURE"))
	if err != nil || strings.TrimSpace(string(out)) != "© Tiles & Co" {
		t.Fatalf("%v %s", err, out)
	}
	at, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(zooms) == 0 {
		t.Error("no tile was fetched")
	}
	for n := range zooms {
		if zooms[n] != "15" || referrers[n] != at.Scheme+"://"+at.Host+"/" {
			t.Errorf("a tile of zoom %s was asked for from %q", zooms[n], referrers[n])
		}
	}
}
