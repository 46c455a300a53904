package config

// Group is the subject that a setting belongs to in help and in the reference.
type Group string

// The groups of settings.
const (
	GroupNetwork  Group = "network"
	GroupStorage  Group = "storage"
	GroupReplicas Group = "replicas"
	GroupAccess   Group = "access"
	GroupOIDC     Group = "oidc"
	GroupOAuth    Group = "oauth"
	GroupServers  Group = "servers"
	GroupOutgoing Group = "outgoing"
	GroupLimits   Group = "limits"
	GroupLogs     Group = "logs"
	GroupShutdown Group = "shutdown"
	GroupChains   Group = "chains"
	GroupConsole  Group = "console"
)

// Groups returns all groups of settings, in the order in which they are shown.
func Groups() []Group {
	return []Group{
		GroupNetwork, GroupStorage, GroupReplicas, GroupAccess, GroupOIDC, GroupOAuth, GroupServers,
		GroupOutgoing, GroupLimits, GroupLogs, GroupShutdown, GroupChains, GroupConsole,
	}
}

// Title returns the heading of the group, which says what its settings are
// about.
func (g Group) Title() string {
	switch g {
	case GroupNetwork:
		return "Addresses, TLS and endpoints"
	case GroupStorage:
		return "Data, journal and history"
	case GroupReplicas:
		return "Several replicas"
	case GroupAccess:
		return "Access without a key"
	case GroupOIDC:
		return "Sign-in with an identity provider (OpenID Connect)"
	case GroupOAuth:
		return "OAuth access tokens of MCP clients"
	case GroupServers:
		return "Servers and tool lists"
	case GroupOutgoing:
		return "Outgoing connections"
	case GroupLimits:
		return "Limits of size, rate and time"
	case GroupLogs:
		return "Logs, traces and profiles"
	case GroupShutdown:
		return "Shutdown"
	case GroupChains:
		return "Chains"
	case GroupConsole:
		return "Console"
	}
	return string(g)
}

// SettingsOf returns the settings of a group, in the order in which they are
// shown.
func SettingsOf(g Group) (out []Setting) {
	for _, s := range Settings() {
		if s.Group == g {
			out = append(out, s)
		}
	}
	return out
}
