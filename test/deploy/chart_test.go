//go:build linux

package deploy

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/junctor-mcp/junctor/test/program"
)

// The chart is rendered here by the language that Helm renders it with, the
// standard library's, and the few functions of Helm that it uses. A template that
// uses another one, or a value that is not there, fails.

func functions(t *template.Template) template.FuncMap {
	text := func(v any) string { b, _ := yaml.Marshal(v); return strings.TrimSuffix(string(b), "\n") }
	number := func(v any) int { n, _ := strconv.Atoi(fmt.Sprint(v)); return n }
	return template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var b bytes.Buffer
			err := t.ExecuteTemplate(&b, name, data)
			return b.String(), err
		},
		"toYaml": text,
		"nindent": func(n int, s string) string {
			return "\n" + strings.Repeat(" ", n) + strings.ReplaceAll(s, "\n", "\n"+strings.Repeat(" ", n))
		},
		"quote": func(v any) string { return strconv.Quote(fmt.Sprint(v)) },
		"default": func(otherwise, v any) any {
			if v == nil || v == "" {
				return otherwise
			}
			return v
		},
		"sha256sum":       func(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) },
		"add":             func(a, b any) int { return number(a) + number(b) },
		"int":             number,
		"trunc":           func(n int, s string) string { return s[:min(n, len(s))] },
		"trimSuffix":      func(suffix, s string) string { return strings.TrimSuffix(s, suffix) },
		"regexReplaceAll": func(re, s, with string) string { return regexp.MustCompile(re).ReplaceAllString(s, with) },
	}
}

// mergeValues is values with those of the operator on top, map by map.
func mergeValues(values, given map[string]any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, values)
	for k, v := range given {
		below, ok1 := out[k].(map[string]any)
		above, ok2 := v.(map[string]any)
		if ok1 && ok2 {
			v = mergeValues(below, above)
		}
		out[k] = v
	}
	return out
}

// valuesOf are the values of the chart with the operator's on top, or why its
// schema refuses them.
func valuesOf(t *testing.T, given string) (map[string]any, error) {
	t.Helper()
	var defaults, mine map[string]any
	for text, to := range map[string]*map[string]any{file(t, "chart", "values.yaml"): &defaults, given: &mine} {
		if err := yaml.Unmarshal([]byte(text), to); err != nil {
			t.Fatal(err)
		}
	}
	all := mergeValues(defaults, mine)
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(file(t, "chart", "values.schema.json")))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("values.json", schema); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("values.json")
	if err != nil {
		t.Fatal(err)
	}
	// As JSON has it: numbers are of one kind there.
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return all, s.Validate(v)
}

// object is what the tests look at of an object of Kubernetes.
type object struct {
	APIVersion, Kind string
	Metadata         struct {
		Name   string
		Labels map[string]string
	}
	Data map[string]string
	Spec struct {
		Replicas    *int
		ServiceName string
		Selector    json.RawMessage
		Template    struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				TerminationGracePeriodSeconds int
				Containers                    []struct {
					Args  []string
					Ports []struct {
						Name          string
						ContainerPort int
					}
					VolumeMounts []struct{ Name, MountPath string }
				}
				Volumes []struct{ Name string }
			}
		}
		VolumeClaimTemplates []struct{ Metadata struct{ Name string } }
		Ports                []struct{ Name, TargetPort string }
		ScaleTargetRef       struct{ Kind, Name string }
		Metrics              []struct {
			Type string
			Pods struct {
				Metric struct{ Name string }
				Target struct{ AverageValue string }
			}
		}
		Rules []struct{ Host string }
	}
}

// chart renders the chart with values and gives its objects by kind and name.
func chart(t *testing.T, given string) map[string]object {
	t.Helper()
	values, err := valuesOf(t, given)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(program.Root(t), "deploy", "chart")
	files, err := filepath.Glob(filepath.Join(folder, "templates", "*"))
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	var about struct {
		Name, Version string
		AppVersion    string `yaml:"appVersion"`
		APIVersion    string `yaml:"apiVersion"`
	}
	if err := yaml.Unmarshal([]byte(file(t, "chart", "Chart.yaml")), &about); err != nil || about.Name != "junctor" || about.Version == "" || about.APIVersion != "v2" {
		t.Fatalf("Chart.yaml: %v %+v", err, about)
	}
	root := template.New("chart").Option("missingkey=error")
	root.Funcs(functions(root))
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := root.New("junctor/templates/" + filepath.Base(path)).Parse(string(text)); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]object{}
	for _, path := range files {
		name := "junctor/templates/" + filepath.Base(path)
		if strings.HasPrefix(filepath.Base(path), "_") {
			continue
		}
		var b bytes.Buffer
		if err := root.ExecuteTemplate(&b, name, map[string]any{
			"Values": values, "Chart": about, "Release": map[string]any{"Name": "test", "Namespace": "agents", "Service": "Helm"},
			"Template": map[string]any{"Name": name, "BasePath": "junctor/templates"},
		}); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".txt") {
			continue
		}
		for d := yaml.NewDecoder(&b); ; {
			var raw any
			if err := d.Decode(&raw); err != nil {
				if err.Error() == "EOF" {
					break
				}
				t.Fatalf("%s: %v", name, err)
			}
			if raw == nil {
				continue
			}
			var o object
			text, err := json.Marshal(raw)
			if err == nil {
				err = json.Unmarshal(text, &o)
			}
			if err != nil || o.Kind == "" || o.APIVersion == "" || all[o.Kind+" "+o.Metadata.Name].Kind != "" {
				t.Fatalf("%s: %v %+v", name, err, o)
			}
			all[o.Kind+" "+o.Metadata.Name] = o
		}
	}
	return all
}

// TestChart renders the chart and looks whether its objects fit together, and
// whether the binary takes the settings that they hold.
func TestChart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values string
		check  func(*testing.T, map[string]object)
	}{
		"as it is": {"trustedProxy: 10.2.0.0/16", func(t *testing.T, all map[string]object) {
			t.Helper()
			if set := all["StatefulSet test"]; set.Spec.Replicas != nil || set.Spec.Template.Spec.TerminationGracePeriodSeconds != 55 {
				t.Errorf("%+v", set)
			}
			if scaler := all["HorizontalPodAutoscaler test"]; len(scaler.Spec.Metrics) != 1 || scaler.Spec.ScaleTargetRef.Kind+" "+scaler.Spec.ScaleTargetRef.Name != "StatefulSet test" {
				t.Errorf("%+v", scaler)
			}
		}},
		"by calls in flight": {"trustedProxy: 10.2.0.0/16\nautoscaling: {callsInFlight: 40}", func(t *testing.T, all map[string]object) {
			t.Helper()
			m := all["HorizontalPodAutoscaler test"].Spec.Metrics
			if len(m) != 2 || m[1].Pods.Metric.Name != "junctor_calls_in_flight" || m[1].Pods.Target.AverageValue != "40" {
				t.Errorf("%+v", m)
			}
		}},
		"a fixed number, and an ingress": {
			"autoscaling: {enabled: false}\nreplicas: 3\nredis: redis://cache:6379/1\npublicURL: https://mcp.example.org\ntrustedProxy: 10.2.0.0/16\nsettings: {call_timeout: 1m, egress_allow: [10.3.0.0/16]}\n" +
				"ingress: {enabled: true, className: nginx, tlsSecret: mcp-tls, annotations: {a/b: c}}\nstorage: {className: fast}\nnodeSelector: {disk: ssd}\ntolerations: [{key: x, operator: Exists}]\nimage: {tag: v9}",
			func(t *testing.T, all map[string]object) {
				t.Helper()
				if r := all["StatefulSet test"].Spec.Replicas; r == nil || *r != 3 {
					t.Errorf("replicas: %v", r)
				}
				if r := all["Ingress test"].Spec.Rules; len(r) != 1 || r[0].Host != "mcp.example.org" {
					t.Errorf("ingress: %+v", r)
				}
				if _, ok := all["HorizontalPodAutoscaler test"]; ok {
					t.Error("there is an autoscaler")
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := chart(t, c.values)
			c.check(t, all)
			checkChart(t, all)
		})
	}
}

// checkChart looks whether what objects say of each other is so.
func checkChart(t *testing.T, all map[string]object) {
	t.Helper()
	set := all["StatefulSet test"]
	pod := set.Spec.Template
	if _, ok := all["Service "+set.Spec.ServiceName]; !ok {
		t.Errorf("there is no service %s", set.Spec.ServiceName)
	}
	c := pod.Spec.Containers[0]
	var ports, disks []string
	for _, p := range c.Ports {
		ports = append(ports, p.Name)
	}
	for _, v := range pod.Spec.Volumes {
		disks = append(disks, v.Name)
	}
	for _, v := range set.Spec.VolumeClaimTemplates {
		disks = append(disks, v.Metadata.Name)
	}
	for _, m := range c.VolumeMounts {
		if !slices.Contains(disks, m.Name) {
			t.Errorf("there is no volume %s", m.Name)
		}
	}
	for name, o := range all {
		if o.Kind != "Service" && o.Kind != "StatefulSet" && o.Kind != "PodDisruptionBudget" {
			continue
		}
		wanted := map[string]string{}
		var matching struct{ MatchLabels map[string]string }
		if json.Unmarshal(o.Spec.Selector, &matching) == nil && matching.MatchLabels != nil {
			wanted = matching.MatchLabels
		} else if err := json.Unmarshal(o.Spec.Selector, &wanted); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(wanted) == 0 {
			t.Errorf("%s is for all pods", name)
		}
		for k, v := range wanted {
			if pod.Metadata.Labels[k] != v {
				t.Errorf("%s is for pods with %s=%s, and these have %q", name, k, v, pod.Metadata.Labels[k])
			}
		}
		for _, p := range o.Spec.Ports {
			if !slices.Contains(ports, p.TargetPort) {
				t.Errorf("%s leads to the port %s, and there are %v", name, p.TargetPort, ports)
			}
		}
	}
	if want := fmt.Sprint([]string{"up", "--config", "/etc/junctor/junctor.yaml"}); fmt.Sprint(c.Args) != want {
		t.Errorf("arguments: %v", c.Args)
	}
	settings(t, all["ConfigMap test"].Data["junctor.yaml"], "JUNCTOR_SEAL_KEY=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "JUNCTOR_ADMIN_KEY=0123456789abcdef0123")
}

// TestChartRefuses has values that are wrong refused before anything is made.
func TestChartRefuses(t *testing.T) {
	t.Parallel()
	const good = "trustedProxy: 10.2.0.0/16\n"
	for given, want := range map[string]string{
		"publicURL: mcp.example.org": "publicURL", "db: mysql://x": "db", "replica: 3": "replica", "autoscaling: {cpuPercent: 700}": "cpuPercent", "drain: soon": "drain", "replicas: 2": "trustedProxy",
	} {
		if want != "trustedProxy" {
			given = good + given
		}
		if _, err := valuesOf(t, given); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", given, err)
		}
	}
}
