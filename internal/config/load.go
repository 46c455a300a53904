package config

import (
	"maps"
	"runtime"
	"slices"
	"strings"
)

// Sources is where settings come from. A flag wins over the environment, the
// environment over the file, the file over the default.
type Sources struct {
	Flags map[string]string                // the flags that were given, by name; lists are a,b,c
	Env   func(name string) (string, bool) // os.LookupEnv; nil is an empty environment
	File  string                           // path of the file; "" is what JUNCTOR_CONFIG names, or none
}

// Load reads and checks all settings. The error has CodeInvalid and holds every
// problem there is, also those in values that another source overrides;
// Problems takes it apart. Neither shows a secret.
func Load(src Sources) (*Config, error) {
	l := newLoader(src)
	// Later ones replace earlier ones.
	l.defaults()
	l.file()
	l.environment()
	l.flags()
	if len(l.problems) == 0 {
		l.together()
	}
	if err := l.problems.asError(); err != nil {
		return nil, err
	}
	return l.config, nil
}

func newLoader(src Sources) *loader {
	if src.Env == nil {
		src.Env = func(string) (string, bool) { return "", false }
	}
	l := &loader{
		src:    src,
		config: &Config{secrets: &secrets{}, sources: map[string]string{}, from: src},
		byName: map[string]Setting{},
	}
	for _, s := range Settings() {
		l.byName[s.Name] = s
	}
	return l
}

type loader struct {
	src      Sources
	config   *Config
	byName   map[string]Setting
	folder   string // of the file, where its documents are; "" where none is read
	problems problems
}

func (l *loader) problem(where, name, message string) {
	l.problems = append(l.problems, Problem{Where: where, Name: name, Message: message})
}

func (l *loader) set(s Setting, value, source string) { l.setAt(s, value, source, source) }

// setAt is set for a value whose exact place says more than its source.
func (l *loader) setAt(s Setting, value, source, place string) {
	if err := s.set(l.config, value); err != nil {
		l.problem(place, s.Name, s.Name+" "+err.Error())
		return
	}
	l.config.sources[s.Name] = source
}

func (l *loader) defaults() {
	for _, s := range Settings() {
		if s.Default == "" {
			continue
		}
		if err := s.set(l.config, s.Default); err != nil {
			l.problem("default", s.Name, err.Error())
		}
	}
	l.config.DataDir = defaultDataDir(runtime.GOOS, l.src.Env)
}

func (l *loader) environment() {
	l.collector()
	for _, s := range Settings() {
		// An empty variable counts as absent: compose files and unit files
		// pass on variables that are not set in that form.
		if value, _ := l.src.Env(s.Env()); value != "" {
			l.set(s, value, s.Env())
		}
	}
	if key, _ := l.src.Env(envAdminKey); key != "" {
		if err := checkAdminKey(key); err != nil {
			l.problem(envAdminKey, "", err.Error())
		}
		l.config.secrets.adminKey = key
	}
	if key, _ := l.src.Env(envSealKey); key != "" {
		l.config.secrets.sealKey = key
	}
}

// collector takes the address of a collector from the variables that OpenTelemetry
// has for it. Our own come before them.
func (l *loader) collector() {
	const whole, base = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, s := range Settings() {
		if s.Name != "otel-endpoint" {
			continue
		}
		if value, _ := l.src.Env(whole); value != "" {
			l.set(s, value, whole)
		} else if value, _ := l.src.Env(base); value != "" {
			if path := strings.TrimRight(value, "/"); strings.Count(path, "/") > 2 { // below a path of its own
				value = path + "/v1/traces"
			}
			l.set(s, value, base)
		}
	}
}

func (l *loader) flags() {
	for _, s := range Settings() {
		if value, ok := l.src.Flags[s.Name]; ok {
			l.set(s, value, "--"+s.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.src.Flags)) {
		if _, ok := l.byName[name]; !ok {
			l.problem("--"+name, "", "no such setting"+didYouMean("--"+name, names(Setting.flag)))
		}
	}
}

func (s Setting) flag() string { return "--" + s.Name }

// names lists all settings in one of their forms.
func names(form func(Setting) string) []string {
	all := Settings()
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = form(s)
	}
	return out
}
