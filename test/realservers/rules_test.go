package realservers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/test/program"
)

// denial is what a client has to see of a step; "" is that nothing was denied.
type denial struct {
	step    string
	message string
}

// template returns one of the rules to start from, with its placeholder replaced.
func template(t *testing.T, in *program.Instance, name, placeholder, value string) junctor.PolicyRule {
	t.Helper()
	var page struct{ Items []junctor.PolicyRule }
	a, err := in.Request(t.Context(), http.MethodGet, "/api/v1/policy-templates", "")
	if err == nil {
		err = json.Unmarshal([]byte(a.Body), &page)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range page.Items {
		if rule.Name == name {
			rule.When = strings.ReplaceAll(rule.When, placeholder, value)
			return rule
		}
	}
	t.Fatalf("there is no rule %s to start from: %s", name, a.Body)
	return junctor.PolicyRule{}
}

// enforce stores rules in place of all others.
func enforce(t *testing.T, in *program.Instance, rules ...junctor.PolicyRule) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"rules": rules})
	if err != nil {
		t.Fatal(err)
	}
	if a, err := in.Request(t.Context(), http.MethodPut, "/api/v1/policies?strict=true", string(text)); err != nil || a.Status != http.StatusOK {
		t.Fatalf("%d %v %s", a.Status, err, a.Body)
	}
}

// walkSteps has each generation of the official client take steps, and holds which of them
// are denied, and with which message.
func walkSteps(t *testing.T, node *program.Node, url string, list []denial, check func(t *testing.T, got []outcome)) {
	t.Helper()
	var all []string
	for _, d := range list {
		all = append(all, d.step)
	}
	for name, w := range clients() {
		t.Run(name, func(t *testing.T) {
			w.URL, w.Steps = url, json.RawMessage("["+strings.Join(all, ",")+"]")
			got := w.run(t, node).Steps
			denied := 0
			for i, d := range list {
				text := string(got[i].Result)
				if got[i].Error != nil {
					text = got[i].Error.Message
				}
				if d.message != "" {
					denied++
				}
				switch {
				case d.message != "" && (got[i].Error == nil && !strings.Contains(text, `"isError":true`) || !strings.Contains(text, d.message)):
					t.Errorf("%s: %s, want a refusal with %q", d.step, text, d.message)
				case d.message == "" && got[i].Error != nil:
					t.Errorf("%s is refused: %s", d.step, text)
				}
			}
			if check != nil {
				check(t, got)
			}
			t.Logf("figure: %s, %s: %d calls, of which rules deny %d with their messages", t.Name(), name, len(list), denied)
		})
	}
}

func step(tool, arguments string) string {
	return fmt.Sprintf(`{"do":"call","call":%q,"arguments":%s}`, tool, arguments)
}

// TestRulesOfFilesystem keeps the clients of server-filesystem below one of the folders that
// it serves, whichever argument has the path.
func TestRulesOfFilesystem(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	in := start(t)
	dir := t.TempDir()
	shared, private := folder(t, dir, "shared", "for everybody"), folder(t, dir, "private", "for nobody")
	add(t, in, "files", command(node, filesystem, dir))
	rule := template(t, in, "paths-below-a-folder", "/srv/data", shared)
	rule.Message = "Only files below the shared folder can be used."
	enforce(t, in, rule)
	path := func(parts ...string) string { return fmt.Sprintf("%q", strings.Join(parts, "/")) }
	secret := path(private, "note.txt")
	walkSteps(t, node, in.URL+"/mcp/s/files", []denial{
		{step("read_text_file", `{"path":`+path(shared, "note.txt")+`}`), ""},
		{step("read_text_file", `{"path":`+secret+`}`), rule.Message},
		{step("read_text_file", `{"path":`+path(shared, "..", "private", "note.txt")+`}`), rule.Message},
		{step("read_multiple_files", `{"paths":[`+path(shared, "note.txt")+`]}`), ""},
		{step("read_multiple_files", `{"paths":[`+path(shared, "note.txt")+`,`+secret+`]}`), rule.Message},
		{step("write_file", `{"path":`+path(shared, "new.txt")+`,"content":"new"}`), ""},
		{step("write_file", `{"path":`+path(private, "new.txt")+`,"content":"new"}`), rule.Message},
		{step("move_file", `{"source":`+secret+`,"destination":`+path(shared, "taken.txt")+`}`), rule.Message},
		{step("move_file", `{"source":`+path(shared, "new.txt")+`,"destination":`+path(private, "put.txt")+`}`), rule.Message},
		{step("list_directory", `{"path":`+path(dir)+`}`), rule.Message},
		{step("search_files", `{"path":`+path(shared)+`,"pattern":"*.txt"}`), ""},
		{step("list_allowed_directories", `{}`), ""},
	}, func(t *testing.T, got []outcome) {
		t.Helper()
		for i, o := range got {
			if strings.Contains(string(o.Result), "for nobody") {
				t.Errorf("step %d shows a private file: %s", i, o.Result)
			}
		}
	})
	if entries, err := os.ReadDir(private); err != nil || len(entries) != 1 {
		t.Errorf("the private folder has %v, %v", entries, err)
	}
	if text, err := os.ReadFile(filepath.Join(private, "note.txt")); err != nil || string(text) != "for nobody" {
		t.Errorf("the private file has %q, %v", text, err)
	}
}

// TestRulesOfEverything denies calls of server-everything by their arguments, asks about one
// tool, hides another and changes results.
func TestRulesOfEverything(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	in := start(t)
	add(t, in, "all", command(node, everything, "stdio"))
	on := func(items ...string) junctor.PolicyTarget { return junctor.PolicyTarget{Items: items} }
	enforce(
		t, in,
		junctor.PolicyRule{Name: "plans", Target: on("all/echo"), When: `args.message.contains("secret plans")`, Verdict: junctor.VerdictDeny, Message: "Talk about plans in person."},
		junctor.PolicyRule{Name: "sums", Target: on("all/get-sum"), When: `args.a + args.b > 100.0`, Verdict: junctor.VerdictDeny, Message: "That is too much."},
		junctor.PolicyRule{Name: "environment", Target: on("all/get-env"), Verdict: junctor.VerdictDeny, Message: "The environment is private."},
		junctor.PolicyRule{Name: "long", Target: on("all/trigger-long-running-operation"), When: `has(args.duration) && args.duration > 5.0`, Verdict: junctor.VerdictAsk, Message: "A person has to approve that."},
		junctor.PolicyRule{Name: "mail", Phase: junctor.PhaseResult, Target: on("all/*"), Verdict: junctor.VerdictRedact, Redact: []string{"email"}},
		junctor.PolicyRule{Name: "weather", Phase: junctor.PhaseResult, Target: on("all/get-structured-content"), When: `result.structuredContent.conditions == "Light rain / drizzle"`, Verdict: junctor.VerdictDeny, Message: "Nobody wants to hear that."},
	)
	walkSteps(t, node, in.URL+"/mcp/s/all", []denial{
		{step("echo", `{"message":"hello"}`), ""},
		{step("echo", `{"message":"our secret plans"}`), "Talk about plans in person."},
		{step("echo", `{"message":"write to ada@example.com"}`), ""},
		{step("get-sum", `{"a":2,"b":40}`), ""},
		{step("get-sum", `{"a":99.5,"b":1}`), "That is too much."},
		{step("get-env", `{}`), "The environment is private."},
		{step("trigger-long-running-operation", `{"duration":60,"steps":1}`), "A person has to approve that."},
		{step("trigger-long-running-operation", `{"duration":0.1,"steps":1}`), ""},
		{step("get-structured-content", `{"location":"New York"}`), ""},
		{step("get-structured-content", `{"location":"Chicago"}`), "Nobody wants to hear that."},
		{`{"do":"tools"}`, ""},
	}, func(t *testing.T, got []outcome) {
		t.Helper()
		if text := string(got[2].Result); strings.Contains(text, "ada@example.com") || !strings.Contains(text, "write to ") {
			t.Errorf("redacted: %s", text)
		}
		list := string(got[len(got)-1].Result)
		if strings.Contains(list, `"get-env"`) || !strings.Contains(list, `"get-sum"`) || !strings.Contains(list, `"trigger-long-running-operation"`) {
			t.Errorf("listed: %s", list)
		}
	})
}

// payments is an API in the form of Stripe's: its requests are forms.
const payments = `{"openapi":"3.0.0","info":{"title":"Stripe API","version":"2022-11-15"},"paths":{
	"/v1/refunds":{"post":{"operationId":"PostRefunds","description":"Create a refund.","requestBody":{"required":false,"content":{"application/x-www-form-urlencoded":{
		"encoding":{"metadata":{"explode":true,"style":"deepObject"}},
		"schema":{"type":"object","additionalProperties":false,"properties":{"amount":{"type":"integer","description":"A positive integer representing how much to refund."},"charge":{"type":"string","maxLength":5000},"currency":{"type":"string"},
			"metadata":{"type":"object","additionalProperties":{"type":"string"}}}}}}},"responses":{"200":{"description":"Successful response."}}}},
	"/v1/payment_intents":{"post":{"operationId":"PostPaymentIntents","description":"Creates a PaymentIntent.","requestBody":{"required":true,"content":{"application/x-www-form-urlencoded":{
		"schema":{"type":"object","additionalProperties":false,"properties":{"amount":{"type":"integer"},"currency":{"type":"string"}},"required":["amount","currency"]}}}},"responses":{"200":{"description":"Successful response."}}}},
	"/v1/charges/{charge}":{"get":{"operationId":"GetChargesCharge","description":"Retrieves a charge.","parameters":[{"in":"path","name":"charge","required":true,"schema":{"type":"string"}}],"responses":{"200":{"description":"Successful response."}}}}}}`

// TestRulesOfPayments bounds the amounts of a server that was generated from the document of
// a payment API.
func TestRulesOfPayments(t *testing.T) {
	t.Parallel()
	node := program.FindNode(t)
	in := program.Start(t, program.FreeAddr(t), t.TempDir(), "--open", "--egress-allow", "127.0.0.0/8")
	var mu sync.Mutex
	var requests []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		mu.Lock()
		requests = append(requests, r.Method+" "+r.URL.Path+" "+r.PostForm.Encode())
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"object":"refund","status":"succeeded","receipt_email":"ada@example.com","card":"4242 4242 4242 4242"}`)
	}))
	t.Cleanup(api.Close)
	if a, err := in.Request(t.Context(), http.MethodPost, "/api/v1/servers", fmt.Sprintf(`{"id":"stripe","mode":"auto-generated","document":%q,"base_url":%q}`, payments, api.URL)); err != nil || a.Status != http.StatusCreated {
		t.Fatalf("%d %v %s", a.Status, err, a.Body)
	}
	amount := template(t, in, "amount-per-call", "10000", "5000")
	amount.Message = "An amount above 50 needs a person."
	personal := template(t, in, "no-personal-data-in-results", "", "")
	enforce(t, in, amount, personal, junctor.PolicyRule{
		Name: "refunds-name-a-charge", Target: junctor.PolicyTarget{Items: []string{"stripe/*refunds"}}, When: `!has(args.charge)`, Verdict: junctor.VerdictDeny, Message: "A refund needs its charge.",
	})
	walkSteps(t, node, in.URL+"/mcp/s/stripe", []denial{
		{step("post_refunds", `{"amount":5000,"charge":"ch_1","metadata":{"order":"7"}}`), ""},
		{step("post_refunds", `{"amount":5001,"charge":"ch_1"}`), amount.Message},
		{step("post_refunds", `{"amount":10}`), "A refund needs its charge."},
		{step("post_refunds", `{"charge":"ch_2"}`), ""},
		{step("post_payment_intents", `{"amount":4999,"currency":"eur"}`), ""},
		{step("post_payment_intents", `{"amount":1000000,"currency":"eur"}`), amount.Message},
		{step("get_charges_charge", `{"charge":"ch_1"}`), ""},
	}, func(t *testing.T, got []outcome) {
		t.Helper()
		for i, o := range got {
			if text := string(o.Result); strings.Contains(text, "ada@example.com") || strings.Contains(text, "4242 4242") {
				t.Errorf("step %d shows personal data: %s", i, text)
			}
		}
	})
	mu.Lock()
	defer mu.Unlock()
	want := []string{"POST /v1/refunds amount=5000&charge=ch_1&metadata%5Border%5D=7", "POST /v1/refunds charge=ch_2", "POST /v1/payment_intents amount=4999&currency=eur", "GET /v1/charges/ch_1 "}
	for i, request := range requests {
		if request != want[i%len(want)] {
			t.Errorf("request %d of the API: %s, want %s", i, request, want[i%len(want)])
		}
	}
	if len(requests) != len(want)*len(clients()) {
		t.Errorf("%d requests reached the API: %q", len(requests), requests)
	}
}
