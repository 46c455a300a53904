package config

import (
	"slices"
	"strconv"
	"strings"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Kind is the form of a setting's value. It decides the type of the flag and
// which YAML types the file may use.
type Kind string

// The kinds of values. All but KindBool are text on the command line.
const (
	KindBool     Kind = "bool"
	KindText     Kind = "text"
	KindNumber   Kind = "number"
	KindSize     Kind = "size"     // bytes: 4194304 or 4MiB
	KindDuration Kind = "duration" // 30s, 2m
	KindList     Kind = "list"     // a,b,c; in the file also a list
)

// Setting is one row of the table of settings. Flags, environment variables,
// the keys of the file, help and `junctor config print` all come from it.
type Setting struct {
	Group   Group
	Name    string // of the flag, without the dashes
	Kind    Kind
	Default string   // "" if there is none, or if it depends on the machine
	Choices []string // all allowed values, if they can be listed
	Help    string

	// set parses the text of a value and stores it in the Config. Its error
	// continues a sentence that begins with the name of the setting. It must
	// not repeat a value that may be a credential.
	set func(*Config, string) error
	// show returns the value in the form that set accepts, without passwords.
	show func(*Config) string
}

// Env returns the name of the setting's environment variable.
func (s Setting) Env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// Key returns the setting's key in the file.
func (s Setting) Key() string { return strings.ReplaceAll(s.Name, "-", "_") }

// Settings returns the table of all settings, in the order in which they are
// shown. To add a setting, add a field to Config and a row here, or to the
// table of its group.
func Settings() []Setting {
	return slices.Concat(commonSettings(), oidcSettings(), oauthSettings(), chainSettings())
}

// commonSettings returns the settings that belong to no group with a file of
// its own.
func commonSettings() []Setting {
	return []Setting{
		{
			Group: GroupNetwork, Name: "listen", Kind: KindText, Default: "127.0.0.1:8717",
			Help: "address to listen on; an address that is not loopback requires --public-url",
			set:  func(c *Config, s string) (err error) { c.Listen, err = parseListen(s); return err },
			show: func(c *Config) string { return c.Listen },
		},
		{
			Group: GroupNetwork, Name: "public-url", Kind: KindText,
			Help: "URL under which clients reach this instance, such as https://junctor.example.com",
			set:  func(c *Config, s string) (err error) { c.PublicURL, err = parseOrigin(s); return err },
			show: func(c *Config) string { return showURL(c.PublicURL) },
		},
		{
			// Pages of MCP Apps come from servers that nobody has to trust.
			// Another origin than that of the console keeps them from using its
			// session.
			Group: GroupNetwork, Name: "sandbox-listen", Kind: KindText,
			Help: "address that serves the pages of MCP Apps to browsers (default: the host of --listen with the next port, or with any free port)",
			set:  func(c *Config, s string) (err error) { c.SandboxListen, err = parseListen(s); return err },
			show: func(c *Config) string { return c.SandboxListen },
		},
		{
			Group: GroupNetwork, Name: "sandbox-url", Kind: KindText,
			Help: "URL under which browsers reach --sandbox-listen, such as https://*.views.example.com; each App view has its own host name below it",
			set:  func(c *Config, s string) (err error) { c.SandboxURL, err = parseSandbox(s); return err },
			show: func(c *Config) string { return showURL(c.SandboxURL) },
		},
		{
			// The default depends on the user, so it is not in the table: see
			// defaultDataDir.
			Group: GroupStorage, Name: "data-dir", Kind: KindText,
			Help: "folder for the database, keys and socket (default: the data folder of the user)",
			set:  func(c *Config, s string) (err error) { c.DataDir, err = parsePath(s); return err },
			show: func(c *Config) string { return c.DataDir },
		},
		{
			// A password may be in the URL, so show masks it.
			Group: GroupStorage, Name: "db", Kind: KindText,
			Help: "PostgreSQL to use instead of SQLite, such as postgres://junctor@127.0.0.1/junctor; set the password with PGPASSWORD or a passfile",
			set:  func(c *Config, s string) (err error) { c.DB, err = parseDB(s); return err },
			show: func(c *Config) string { return showDB(c.DB) },
		},
		{
			Group: GroupReplicas, Name: "replica-url", Kind: KindText,
			Help: "URL under which other replicas with the same --db reach this one (default: the address of --listen, unless that is a wildcard address)",
			set:  func(c *Config, s string) (err error) { c.ReplicaURL, err = parseOrigin(s); return err },
			show: func(c *Config) string { return showURL(c.ReplicaURL) },
		},
		{
			Group: GroupReplicas, Name: "redis", Kind: KindText,
			Help: "Redis that replicas use to share limits and to keep streams, such as redis://127.0.0.1:6379/0; without it, or while it is unreachable, each replica counts limits alone",
			set:  func(c *Config, s string) (err error) { c.Redis, err = parseRedis(s); return err },
			show: func(c *Config) string { return showDB(c.Redis) },
		},
		{
			Group: GroupStorage, Name: "seal-key-file", Kind: KindText,
			Help: "file with the keys that encrypt stored secrets (default: seal.key in the data folder)",
			set:  func(c *Config, s string) (err error) { c.SealKeyFile, err = parsePath(s); return err },
			show: func(c *Config) string { return c.SealKeyFile },
		},
		{
			// strict syncs the file before each call is dispatched. fast leaves
			// that to the operating system, which survives a crash of the
			// process only.
			Group: GroupStorage, Name: "journal", Kind: KindText, Default: "fast", Choices: []string{"fast", "strict"},
			Help: "fast: recorded calls survive a kill of the process; strict: they also survive a power failure, because each write waits for the disk",
			set: func(c *Config, s string) (err error) {
				c.Journal, err = parseChoice([]string{"fast", "strict"})(s)
				return err
			},
			show: func(c *Config) string { return c.Journal },
		},
		{
			Group: GroupStorage, Name: "audit-days", Kind: KindNumber, Default: "90",
			Help: "days to keep the journal of calls; 0 keeps it forever",
			set:  func(c *Config, s string) (err error) { c.AuditDays, err = parseInt(s, 0, 36500); return err },
			show: func(c *Config) string { return strconv.Itoa(c.AuditDays) },
		},
		{
			Group: GroupStorage, Name: "history-days", Kind: KindNumber, Default: "30",
			Help: "days to keep the payloads of calls; 0 keeps no payloads",
			set:  func(c *Config, s string) (err error) { c.HistoryDays, err = parseInt(s, 0, 36500); return err },
			show: func(c *Config) string { return strconv.Itoa(c.HistoryDays) },
		},
		{
			Group: GroupStorage, Name: "history-size", Kind: KindSize, Default: "4KiB",
			Help: "bytes to keep of a call's parameters, and of its result",
			set:  func(c *Config, s string) (err error) { c.HistorySize, err = parseSize(s, 256, 1<<20); return err },
			show: func(c *Config) string { return showSize(c.HistorySize) },
		},
		{
			Group: GroupServers, Name: "builtin", Kind: KindList, Choices: BuiltinServers(),
			Help: "built-in servers to add: " + strings.Join(BuiltinServers(), ", ") + "; an added server stays until `junctor server rm`",
			set: func(c *Config, s string) (err error) {
				c.Builtin, err = parseList(s, parseChoice(BuiltinServers()))
				return err
			},
			show: func(c *Config) string { return strings.Join(c.Builtin, ",") },
		},
		{
			Group: GroupServers, Name: "ocr-roots", Kind: KindList,
			Help: "folders from which the ocr tools may read images",
			set:  func(c *Config, s string) (err error) { c.OCRRoots, err = parseList(s, parsePath); return err },
			show: func(c *Config) string { return strings.Join(c.OCRRoots, ",") },
		},
		{
			Group: GroupServers, Name: "ocr-vision-url", Kind: KindText, Default: "https://vision.googleapis.com",
			Help: "URL of the Cloud Vision API that google_vision_ocr calls",
			set:  func(c *Config, s string) (err error) { c.OCRVisionURL, err = parseEndpoint(s); return err },
			show: func(c *Config) string { return c.OCRVisionURL },
		},
		{
			// checkOpen refuses it for an instance that other machines can
			// reach.
			Group: GroupAccess, Name: "open", Kind: KindBool, Default: "false",
			Help: "let callers without a key list and call tools; only if the instance listens on loopback",
			set:  func(c *Config, s string) (err error) { c.Open, err = parseBool(s); return err },
			show: func(c *Config) string { return strconv.FormatBool(c.Open) },
		},
		{
			Group: GroupNetwork, Name: "tls-cert", Kind: KindText,
			Help: "PEM file with the certificate chain",
			set:  func(c *Config, s string) (err error) { c.TLSCert, err = parsePath(s); return err },
			show: func(c *Config) string { return c.TLSCert },
		},
		{
			Group: GroupNetwork, Name: "tls-key", Kind: KindText,
			Help: "PEM file with the private key of the certificate",
			set:  func(c *Config, s string) (err error) { c.TLSKey, err = parsePath(s); return err },
			show: func(c *Config) string { return c.TLSKey },
		},
		{
			// Anybody can send forwarding headers; only those of these
			// addresses are used.
			Group: GroupNetwork, Name: "trusted-proxy", Kind: KindList,
			Help: "addresses or ranges of reverse proxies whose forwarding headers are trusted",
			set:  func(c *Config, s string) (err error) { c.TrustedProxy, err = parseList(s, parsePrefix); return err },
			show: func(c *Config) string { return showPrefixes(c.TrustedProxy) },
		},
		{
			// Other Host values are refused, which prevents DNS rebinding.
			Group: GroupNetwork, Name: "allowed-hosts", Kind: KindList,
			Help: "additional Host values to accept, as host or host:port",
			set:  func(c *Config, s string) (err error) { c.AllowedHosts, err = parseList(s, parseHost); return err },
			show: func(c *Config) string { return strings.Join(c.AllowedHosts, ",") },
		},
		{
			Group: GroupNetwork, Name: "allowed-origins", Kind: KindList,
			Help: "additional browser origins to accept, as scheme://host[:port]",
			set: func(c *Config, s string) (err error) {
				c.AllowedOrigins, err = parseList(s, parseOriginText)
				return err
			},
			show: func(c *Config) string { return strings.Join(c.AllowedOrigins, ",") },
		},
		{
			Group: GroupNetwork, Name: "endpoints-off", Kind: KindList, Choices: Endpoints(),
			Help: "endpoints to switch off: " + strings.Join(Endpoints(), ", "),
			set: func(c *Config, s string) (err error) {
				c.EndpointsOff, err = parseList(s, parseChoice(Endpoints()))
				return err
			},
			show: func(c *Config) string { return strings.Join(c.EndpointsOff, ",") },
		},
		{
			Group: GroupLimits, Name: "max-body", Kind: KindSize, Default: "4MiB",
			Help: "largest request body that an endpoint accepts",
			set:  func(c *Config, s string) (err error) { c.MaxBody, err = parseSize(s, 1<<10, 256<<20); return err },
			show: func(c *Config) string { return showSize(c.MaxBody) },
		},
		{
			Group: GroupLimits, Name: "max-result", Kind: KindSize, Default: "32MiB",
			Help: "largest result of a call, and largest response of an API, that is accepted from a server",
			set:  func(c *Config, s string) (err error) { c.MaxResult, err = parseSize(s, 64<<10, 1<<30); return err },
			show: func(c *Config) string { return showSize(c.MaxResult) },
		},
		{
			// The default depends on the memory of the machine and is stored as
			// 0.
			Group: GroupLimits, Name: "max-in-flight", Kind: KindSize,
			Help: "memory for large requests and results at a time (default: a quarter of the memory of the machine or control group)",
			set:  func(c *Config, s string) (err error) { c.MaxInFlight, err = parseSize(s, 1<<20, 1<<40); return err },
			show: func(c *Config) string { return showUnlessZero(c.MaxInFlight) },
		},
		{
			Group: GroupLimits, Name: "max-in-flight-per-caller", Kind: KindSize,
			Help: "memory for large requests and results of one user, agent or service at a time (default: a quarter of --max-in-flight, and at least twice --max-result if that fits)",
			set: func(c *Config, s string) (err error) {
				c.MaxPerCaller, err = parseSize(s, 1<<20, 1<<40)
				return err
			},
			show: func(c *Config) string { return showUnlessZero(c.MaxPerCaller) },
		},
		{
			Group: GroupLimits, Name: "rate-limit", Kind: KindNumber, Default: "200",
			Help: "calls per second for each caller; 0 means no limit",
			set:  func(c *Config, s string) (err error) { c.RateLimit, err = parseFloat(s, 0, 1e6); return err },
			show: func(c *Config) string { return strconv.FormatFloat(c.RateLimit, 'f', -1, 64) },
		},
		{
			Group: GroupLimits, Name: "rate-burst", Kind: KindNumber, Default: "400",
			Help: "calls that a caller may make at once after a pause",
			set:  func(c *Config, s string) (err error) { c.RateBurst, err = parseInt(s, 1, 1e6); return err },
			show: func(c *Config) string { return strconv.Itoa(c.RateBurst) },
		},
		{
			Group: GroupLimits, Name: "call-timeout", Kind: KindDuration, Default: "5m",
			Help: "how long a call may run without progress; each progress notification of the server restarts the time. Servers and tools can have their own value",
			set: func(c *Config, s string) (err error) {
				c.CallTimeout, err = parseDuration(s, time.Millisecond, 24*time.Hour)
				return err
			},
			show: func(c *Config) string { return junctor.Duration(c.CallTimeout).String() },
		},
		{
			Group: GroupLimits, Name: "call-timeout-max", Kind: KindDuration, Default: "1h",
			Help: "how long a call may run in total, even with progress; 0 means no limit. Servers and tools can have their own value",
			set: func(c *Config, s string) (err error) {
				c.CallTimeoutMax, err = parseDuration(s, 0, 168*time.Hour)
				return err
			},
			show: func(c *Config) string { return junctor.Duration(c.CallTimeoutMax).String() },
		},
		{
			Group: GroupShutdown, Name: "drain", Kind: KindDuration, Default: "0s",
			Help: "how long to keep serving after SIGTERM while /readyz fails, so that load balancers stop sending requests; --drain-calls begins afterwards",
			set: func(c *Config, s string) (err error) {
				c.Drain, err = parseDuration(s, 0, time.Hour)
				return err
			},
			show: func(c *Config) string { return c.Drain.String() },
		},
		{
			Group: GroupShutdown, Name: "drain-calls", Kind: KindDuration, Default: "30s",
			Help: "how long running calls may continue after SIGTERM and --drain; calls that still run then end with an error",
			set: func(c *Config, s string) (err error) {
				c.DrainCalls, err = parseDuration(s, 0, 24*time.Hour)
				return err
			},
			show: func(c *Config) string { return c.DrainCalls.String() },
		},
		{
			// Some model APIs refuse tool names above 64 characters.
			Group: GroupServers, Name: "name-limit", Kind: KindNumber, Default: "64",
			Help: "longest tool name that clients see; a lower value leaves room for a prefix that a client adds",
			set:  func(c *Config, s string) (err error) { c.NameLimit, err = parseInt(s, 48, 128); return err },
			show: func(c *Config) string { return strconv.Itoa(c.NameLimit) },
		},
		{
			Group: GroupServers, Name: "exposure", Kind: KindText, Default: "auto", Choices: []string{"auto", "all", "search"},
			Help: "how endpoints that combine servers list tools: all lists every tool; search lists three tools that find, describe and call the others; auto is search above 128 tools or 256 KB, unless the client searches tools itself",
			set: func(c *Config, s string) (err error) {
				c.Exposure, err = parseChoice([]string{"auto", "all", "search"})(s)
				return err
			},
			show: func(c *Config) string { return c.Exposure },
		},
		{
			// An admin key that leaks must not be enough to run programs here,
			// so the default is false.
			Group: GroupServers, Name: "allow-commands", Kind: KindBool, Default: "false",
			Help: "let admin keys add servers that run a command on this machine; the operator's command line can always add them",
			set:  func(c *Config, s string) (err error) { c.AllowCommands, err = parseBool(s); return err },
			show: func(c *Config) string { return strconv.FormatBool(c.AllowCommands) },
		},
		{
			// Agents may still have grants for the removed server. Without this
			// time, another user could take its id and receive their calls.
			Group: GroupServers, Name: "reserved-id-days", Kind: KindNumber, Default: "30",
			Help: "days for which only the former owner and admins can reuse the ID of a removed server; 0 means that IDs are not reserved",
			set:  func(c *Config, s string) (err error) { c.ReservedIDDays, err = parseInt(s, 0, 3650); return err },
			show: func(c *Config) string { return strconv.Itoa(c.ReservedIDDays) },
		},
		{
			// By default private addresses are not dialled, so that a server
			// definition cannot be used to reach services of the internal
			// network.
			Group: GroupOutgoing, Name: "egress-allow", Kind: KindList,
			Help: "private address ranges that Junctor may connect to, such as 10.1.0.0/16",
			set:  func(c *Config, s string) (err error) { c.EgressAllow, err = parseList(s, parseEgress); return err },
			show: func(c *Config) string { return showPrefixes(c.EgressAllow) },
		},
		{
			// HTTP_PROXY is ignored: it may be set for other programs, and
			// calls with credentials must not go through a proxy that nobody
			// chose for them.
			Group: GroupOutgoing, Name: "egress-proxy", Kind: KindText,
			Help: "proxy for all outgoing connections, as an http, https or socks5 URL; HTTP_PROXY is ignored",
			set:  func(c *Config, s string) (err error) { c.EgressProxy, err = parseProxy(s); return err },
			show: func(c *Config) string { return showURL(c.EgressProxy) },
		},
		{
			Group: GroupNetwork, Name: "http-fast-path", Kind: KindText, Default: "on", Choices: []string{"on", "off"},
			Help: "on parses plain POST requests and the responses of plain http servers without net/http, which needs less CPU; off uses net/http for both",
			set: func(c *Config, s string) error {
				value, err := parseChoice([]string{"on", "off"})(s)
				c.HTTPFastPath = value == "on"
				return err
			},
			show: func(c *Config) string {
				if c.HTTPFastPath {
					return "on"
				}
				return "off"
			},
		},
		{
			Group: GroupLogs, Name: "log-level", Kind: KindText, Default: "info", Choices: []string{"debug", "info", "warn", "error"},
			Help: "lowest level to log: debug, info, warn or error",
			set: func(c *Config, s string) (err error) {
				c.LogLevel, err = parseChoice([]string{"debug", "info", "warn", "error"})(s)
				return err
			},
			show: func(c *Config) string { return c.LogLevel },
		},
		{
			Group: GroupLogs, Name: "log-format", Kind: KindText, Default: "text", Choices: []string{"text", "json"},
			Help: "format of log lines: text or json",
			set: func(c *Config, s string) (err error) {
				c.LogFormat, err = parseChoice([]string{"text", "json"})(s)
				return err
			},
			show: func(c *Config) string { return c.LogFormat },
		},
		{
			Group: GroupLogs, Name: "otel-endpoint", Kind: KindText,
			Help: "OTLP/HTTP collector to send traces to, such as http://127.0.0.1:4318",
			set:  func(c *Config, s string) (err error) { c.OTelEndpoint, err = parseEndpoint(s); return err },
			show: func(c *Config) string { return c.OTelEndpoint },
		},
		{
			Group: GroupLogs, Name: "pprof", Kind: KindBool, Default: "false",
			Help: "serve Go profiles under /debug/pprof; requests need an admin key",
			set:  func(c *Config, s string) (err error) { c.Pprof, err = parseBool(s); return err },
			show: func(c *Config) string { return strconv.FormatBool(c.Pprof) },
		},
		{
			Group: GroupConsole, Name: "map-tiles", Kind: KindText,
			Help: "URL template for map tiles, then a space and the attribution, such as 'https://tiles.example.com/{z}/{x}/{y}.png © Example'; if empty, the console draws built-in country outlines",
			set:  func(c *Config, s string) (err error) { c.MapTiles, err = parseTiles(s); return err },
			show: func(c *Config) string { return c.MapTiles },
		},
		{
			Group: GroupConsole, Name: "console-dev", Kind: KindText,
			Help: "Vite server to load the console from during development, such as http://127.0.0.1:5173",
			set:  func(c *Config, s string) (err error) { c.ConsoleDev, err = parseOrigin(s); return err },
			show: func(c *Config) string { return showURL(c.ConsoleDev) },
		},
	}
}
