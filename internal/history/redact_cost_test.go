package history

import "testing"

// Redacting allocates nothing once its buffers have grown, whatever is found.
func TestRedactingAllocatesNothing(t *testing.T) {
	r := newRedactor(4096)
	secrets := newSecretPaths([]string{"/headers/*/name", "/a"}, []string{"/headers/0/name"})
	inputs := make([][]byte, 0, 40)
	for _, s := range append(secretTexts(), "harmless text", "é\u0001\"\\\n", `{"password":"hunter2000","list":[1,{"a":"b"}]}`) {
		inputs = append(inputs, []byte(`{"a":`+quoted(s)+`,"headers":[{"name":"Cookie","value":"a=b"}],"echo":`+quoted(quoted(s))+`}`))
	}
	for i := range secrets.params {
		secrets.params[i] = secrets.params[i][1:] // without "arguments"
	}
	once := func() {
		for _, in := range inputs {
			r.reset()
			r.redactParams(in, len(in), secrets.params)
			r.redactResult(in[:len(in)/2], len(in), secrets.result)
			r.redactText("no such door: password=open")
		}
	}
	once()
	if n := testing.AllocsPerRun(20, once); n > 0 {
		t.Errorf("%v allocations for %d calls", n, len(inputs))
	}
}
