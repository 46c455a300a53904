// Package config turns flags, environment variables and the settings file into
// one Config, and reads and writes what a file declares beside settings:
// servers, agents, triggers, sources, schedules and chains.
//
// internal/cli collects the sources and calls Load. internal/app builds an
// instance from the Config, internal/declare puts the declarations into force,
// and internal/pack reads and writes declarations in packs. Other packages get
// the values that they need from internal/app, never the Config itself. The
// package imports only package junctor.
//
// Read settings.go first: the table of all settings. load.go applies the
// sources in their order, file.go reads the settings of a YAML file, and
// combinations.go checks settings against each other. parse.go and address.go
// parse values. declared.go, api.go, agents.go, events.go and chains.go read
// the declarations with the helpers of document.go and json_value.go. encode.go
// writes them.
package config

import (
	"crypto/sha256"
	"net/netip"
	"net/url"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// BuiltinServers returns the ids that the setting builtin may name: the servers inside
// the binary that are useful without anything else.
func BuiltinServers() []string { return []string{"demo", "ocr", "dashboard"} }

// Config has every setting of an instance, checked. The table in settings.go
// says what each is for. A Config is never changed after Load, so it needs no
// lock.
type Config struct {
	Listen         string
	PublicURL      *url.URL // nil: the listen address is the public one
	ReplicaURL     *url.URL // where other replicas reach this one; nil: where it listens
	SandboxListen  string   // "": beside Listen
	SandboxURL     *url.URL // nil: where SandboxListen is; a host that begins with *. is every name below it
	ConsoleDev     *url.URL // Vite server of the console under development; nil: the console in the binary
	MapTiles       string   // URL template with {z}, {x} and {y}, then a space and the attribution; "": built-in outlines
	DataDir        string
	DB             *url.URL // nil: SQLite in the data directory
	SealKeyFile    string   // "": seal.key in the data directory
	Journal        string   // fast or strict
	AuditDays      int      // 0: forever
	HistoryDays    int      // 0: no payload is kept
	HistorySize    int64
	Builtin        []string // ids of built-in servers to add; those that an instance has stay
	OCRRoots       []string
	OCRVisionURL   string
	Open           bool
	TLSCert        string
	TLSKey         string
	TrustedProxy   []netip.Prefix
	AllowedHosts   []string // lower case, host or host:port
	AllowedOrigins []string // lower case, scheme://host[:port]
	EndpointsOff   []string
	MaxBody        int64
	MaxResult      int64   // bytes of one result of a server
	MaxInFlight    int64   // bytes of requests and results in memory; 0: depends on the memory of the machine
	MaxPerCaller   int64   // bytes of these that one caller has; 0: depends on MaxInFlight
	RateLimit      float64 // calls per second and caller; 0: no limit
	RateBurst      int
	CallTimeout    time.Duration // without a sign of the server
	CallTimeoutMax time.Duration // in total; 0: no limit
	Redis          *url.URL      // nil: limits are not shared
	Drain          time.Duration // time after SIGTERM in which /readyz fails and calls are still served; 0: none
	DrainCalls     time.Duration // for running calls to end after that
	NameLimit      int
	Exposure       string // auto, all or search
	AllowCommands  bool
	ReservedIDDays int // for these days the id of a removed server is reserved for its owner and admins; 0: not reserved
	EgressAllow    []netip.Prefix
	EgressProxy    *url.URL // nil: none
	HTTPFastPath   bool     // false: net/http alone reads and sends plain HTTP
	LogLevel       string
	LogFormat      string
	OTelEndpoint   string // "": no tracing
	Pprof          bool
	OIDC           OIDC
	OAuth          OAuth
	Chains         []junctor.Chain
	IPFSGateways   []string
	AgentDomains   string // off, show or require

	// secrets is behind a pointer, so that printing a Config with %v shows no
	// key.
	secrets *secrets
	// sources says where a setting comes from, by its name. A default has no
	// entry.
	sources    map[string]string
	warnings   []string
	declared   Declared
	file       string // path of the settings file; "" if none was named
	fileSum    [sha256.Size]byte
	fileBlank  bool
	loadedFrom Sources
}

// secrets are the keys that are read from the environment only. In a file they
// could be shared by mistake, and as flags they would be in the list of
// processes.
type secrets struct{ adminKey, sealKey string }

// AdminKey returns the value of JUNCTOR_ADMIN_KEY; "" if it is not set.
func (c *Config) AdminKey() string { return c.secrets.adminKey }

// SealKey returns the value of JUNCTOR_SEAL_KEY; "" if it is not set.
func (c *Config) SealKey() string { return c.secrets.sealKey }

// IsEndpointOn reports whether an entry point of Endpoints is served, that is, whether
// endpoints-off does not name it.
func (c *Config) IsEndpointOn(endpoint string) bool {
	return !slices.Contains(c.EndpointsOff, endpoint)
}

// Loopback reports whether only this machine can reach the listener.
func (c *Config) Loopback() bool { return isLoopbackAddress(c.Listen) }

// ThisMachineOnly reports whether only this machine can reach the instance: Loopback holds,
// and no setting tells of a proxy that passes the requests of others to the listener.
func (c *Config) ThisMachineOnly() bool {
	return c.Loopback() && len(c.TrustedProxy) == 0 && (c.PublicURL == nil || isLoopbackHost(c.PublicURL.Hostname()))
}

// File returns the absolute path of the settings file; "" if none was named.
func (c *Config) File() string { return c.file }

// FileSum returns the SHA-256 of the text of the file as it was read.
// internal/declare compares it to notice a change.
func (c *Config) FileSum() [sha256.Size]byte { return c.fileSum }

// Blank reports whether a file was named and is empty. An empty file may be one
// that an editor is just writing, so a reload refuses it.
func (c *Config) Blank() bool { return c.fileBlank }

// Declared returns what the file declares beside settings.
func (c *Config) Declared() Declared { return c.declared }

// Reload reads all sources again and returns a new Config. c stays as it is.
// The flags and the environment are those of the first Load.
func (c *Config) Reload() (*Config, error) { return Load(c.loadedFrom) }

// Changed names the settings whose values differ in other. They take effect at
// the next start.
func (c *Config) Changed(other *Config) []string {
	var names []string
	now := other.Values()
	for i, v := range c.Values() {
		if i < len(now) && now[i].Name == v.Name && now[i].Value != v.Value {
			names = append(names, v.Name)
		}
	}
	return names
}

// Warnings returns a sentence for each setting that is valid and probably not
// intended.
func (c *Config) Warnings() []string { return slices.Clone(c.warnings) }

// Value is one setting as it is in force, as text. It contains no secret.
type Value struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"` // default, --flag, the variable's name, or file:line
}

// Values lists every setting and its source, in the order of the table. The
// keys from the environment are listed if they are set, with *** as their
// value.
func (c *Config) Values() []Value {
	var out []Value
	for _, s := range Settings() {
		source := c.sources[s.Name]
		if source == "" {
			source = "default"
		}
		out = append(out, Value{Name: s.Name, Value: s.show(c), Source: source})
	}
	for _, env := range []struct{ name, value string }{{envAdminKey, c.AdminKey()}, {envSealKey, c.SealKey()}} {
		if env.value != "" {
			out = append(out, Value{Name: env.name, Value: "***", Source: env.name})
		}
	}
	return out
}

// Endpoints lists the entry points that endpoints-off can name.
func Endpoints() []string {
	return []string{"mcp", "plain", "call", "sse", "stdio", "admin", "metrics", "hooks", "a2a"}
}
