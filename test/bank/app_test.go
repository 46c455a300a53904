package bank

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/a2ui"
	"github.com/junctor-mcp/junctor/test/program"
)

// Where Apps are shown the answer is the map's own: in a room, whose page opens it
// as the agent, and to a client elsewhere that names the catalog, by the
// address of the server.
func TestTheMapsOwnApp(t *testing.T) {
	t.Parallel()
	geocoder := newNominatim(t)
	addr := program.FreeAddr(t)
	mapServer(t, addr, geocoder)
	s := openScene(t, "map_server_url=http://"+addr+"/mcp")
	geocoder.setAnswer(answerPlaces(placeAt("Tesco Extra, Mogden Lane, Isleworth, TW7 7JY", "51.4590070", "-0.3374180")))
	const input = `"toolInput":{"east":-0.3367,"label":"Tesco Extra, Mogden Lane, Isleworth, TW7 7JY","north":51.4597,"south":51.4585,"west":-0.3384}`

	var room struct{ ID string }
	s.postJSON(t, http.StatusCreated, "/api/v1/rooms", `{"name":"Den","policy":"router","approvals":"never","members":[{"agent":"bank"}]}`, &room)
	s.postJSON(t, http.StatusOK, "/api/v1/rooms/"+room.ID+"/runs", fmt.Sprintf(`{"threadId":%q,"runId":"r1","messages":[{"id":"m1","role":"user","content":%q}]}`, room.ID, question), nil)
	got, err := s.Request(t.Context(), http.MethodGet, "/api/v1/rooms/"+room.ID+"/messages?sort=at", "")
	var page struct {
		Items []struct {
			Text     string
			Surfaces []a2ui.Surface
		}
	}
	if err == nil {
		err = json.Unmarshal([]byte(got.Body), &page)
	}
	if err != nil || len(page.Items) == 0 {
		t.Fatalf("%v: %s", err, got.Body)
	}
	last := page.Items[len(page.Items)-1]
	if last.Text != recent || len(last.Surfaces) != 1 || !strings.Contains(fmt.Sprintf("%s", last.Surfaces[0].Components), `"server":"map",`+input+`,"toolName":"show-map"`) {
		t.Fatalf("in the room: %q %+v", last.Text, last.Surfaces)
	}
	var view struct{ ID, URL, Tool, Server string }
	s.postJSON(t, http.StatusCreated, "/api/v1/views", `{"tool":"show-map","server":"map","agent":"bank"}`, &view)
	if view.ID == "" {
		t.Errorf("the App is not opened as the agent: %+v", view)
	}

	var answer struct {
		Result struct {
			Task struct{ Artifacts json.RawMessage }
		}
	}
	ask := func(catalogs string) string {
		t.Helper()
		s.postJSON(t, http.StatusOK, "/a2a/bank/", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":%q}],
			"metadata":{"a2uiClientCapabilities":{"v0.9":{"supportedCatalogIds":["https://a2ui.org/specification/v0_9/catalogs/basic/catalog.json"%s]}}}}}}`, question, catalogs), &answer, "A2A-Version: 1.0")
		return string(answer.Result.Task.Artifacts)
	}
	if text := ask(`,"` + a2ui.AppsCatalogID + `","` + a2ui.MapsCatalogID + `"`); !strings.Contains(text, `"mcpEndpointUrl":"`+s.URL+`/mcp/s/map"`) || !strings.Contains(text, input) || !strings.Contains(text, `"fallback":"place"`) || !strings.Contains(text, "googlemaps:MapView") {
		t.Errorf("to a client that shows Apps: %s", text)
	}
	if text := ask(`,"` + a2ui.MapsCatalogID + `"`); !strings.Contains(text, "googlemaps:MapView") || strings.Contains(text, "AppFrame") {
		t.Errorf("to a client that shows none: %s", text)
	}
}

// postJSON sends a request, and reads the answer into out.
func (s *scene) postJSON(t *testing.T, want int, path, body string, out any, header ...string) {
	t.Helper()
	got, err := s.Request(t.Context(), http.MethodPost, path, body, header...)
	if err == nil && out != nil {
		err = json.Unmarshal([]byte(got.Body), out)
	}
	if err != nil || got.Status != want {
		t.Fatalf("POST %s: %d %v\n%s", path, got.Status, err, got.Body)
	}
}

// Whatever becomes of the map's own App, the room shows a map: the one that is drawn
// from coordinates unless the App is approved, begins in time and goes on. Nobody is
// asked to allow a search for a place.
func TestAMapEachTime(t *testing.T) {
	t.Parallel()
	program.NeedChromium(t)
	geocoder := newNominatim(t)
	addr := program.FreeAddr(t)
	server := mapServer(t, addr, geocoder)
	s := openScene(t, "map_server_url=http://"+addr+"/mcp")
	const label = "Tesco Extra, Mogden Lane, Isleworth, TW7 7JY"
	geocoder.setAnswer(answerPlaces(placeAt(label, "51.4590070", "-0.3374180")))
	c := &program.Console{Instance: s.Instance, Node: program.FindNode(t)}
	c.Tell(t, "user", "add", "ada", "--role", "admin")
	control := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		command := map[string][]string{"/approve": {"app", "approve", "map__show-map"}, "/remove": {"server", "rm", "map"}}[r.URL.Path]
		if command == nil {
			server.Kill()
			return
		}
		if _, errs, code := c.Operate(t, command...); code != 0 {
			http.Error(w, errs, http.StatusInternalServerError)
		}
	}))
	t.Cleanup(control.Close)
	setting := map[string]string{"link": c.Link(t, "ada"), "question": question, "label": label, "control": control.URL, "shots": os.Getenv("JUNCTOR_SHOTS")}
	if program.Long() { // it draws a globe, which takes a machine that is not busy
		setting["cesium"] = c.Node.Module("cesium/Build/Cesium")
	}
	text, err := json.Marshal(setting)
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.Node.Run(t, 5*time.Minute, "bank_maps.mjs", string(text))
	if err != nil || !strings.Contains(string(out), `"east":-0.3367`) {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Log("figure: in Chromium, with server-map 2.0.3 unapproved, approved, leaving its sandbox, failing and gone: a map each time, and no request for approval")
}
