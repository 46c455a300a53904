// Package agents manages the agents of an instance: who may make and change them,
// which tools, resources and prompts they may use, what they think with, and the
// turns they run.
//
// A row in the store says what an agent is. [Registry] changes these rows for the
// admin API, and publishes them to package catalog, which decides what an agent sees,
// and to the limits. [ModelRegistry] keeps the language models and gives providers of
// package agent/model. [TurnFactory] makes turns of package agent from stored agents;
// packages room and a2a run them, and each tool call passes the pipeline of package
// guard. [AppToolSource] adds the tools of App views that package apps has open.
// [RemoteAgents] offers published agents of other parties as tools. [ComponentCatalogs]
// keeps the A2UI components that agents may answer with. Package declare applies
// settings files through [Kind]. Package app makes the Registry and connects it.
//
// Read options.go and agents.go first (the Registry), then grants.go, tags.go and
// access.go (what an agent may use), models.go and component_catalogs.go, turns.go,
// turn_tools.go and app_tools.go (a turn and its tools), and last remote_agents.go and
// kind.go.
package agents
