package mcpapps

import "github.com/modelcontextprotocol/go-sdk/mcp"

// Theme is the host's colour scheme.
type Theme string

// Themes.
const (
	ThemeLight Theme = "light"
	ThemeDark  Theme = "dark"
)

// DisplayMode is how much space a View has.
type DisplayMode string

// Display modes.
const (
	DisplayInline     DisplayMode = "inline"
	DisplayFullscreen DisplayMode = "fullscreen"
	DisplayPIP        DisplayMode = "pip"
)

// Platform is the kind of device on which the host runs.
type Platform string

// Platforms.
const (
	PlatformWeb     Platform = "web"
	PlatformDesktop Platform = "desktop"
	PlatformMobile  Platform = "mobile"
)

// HostContext describes the environment of a View. In a host-context-changed
// notification it holds only the members that changed.
type HostContext struct {
	ToolInfo              *ToolInfo            `json:"toolInfo,omitzero"`
	Theme                 Theme                `json:"theme,omitzero"`
	Styles                *Styles              `json:"styles,omitzero"`
	DisplayMode           DisplayMode          `json:"displayMode,omitzero"`
	AvailableDisplayModes []DisplayMode        `json:"availableDisplayModes,omitzero"`
	ContainerDimensions   *ContainerDimensions `json:"containerDimensions,omitzero"`
	Locale                string               `json:"locale,omitzero"`   // BCP 47
	TimeZone              string               `json:"timeZone,omitzero"` // IANA
	UserAgent             string               `json:"userAgent,omitzero"`
	Platform              Platform             `json:"platform,omitzero"`
	DeviceCapabilities    *DeviceCapabilities  `json:"deviceCapabilities,omitzero"`
	SafeAreaInsets        *SafeAreaInsets      `json:"safeAreaInsets,omitzero"`

	Extra map[string]any `json:",embed"` // members that have no field here
}

// MarshalJSON writes Extra beside the fields.
func (c HostContext) MarshalJSON() ([]byte, error) {
	type plain HostContext
	return encodeDeterministic(plain(c))
}

// UnmarshalJSON reads members that have no field into Extra.
func (c *HostContext) UnmarshalJSON(data []byte) error {
	type plain HostContext
	return decodeStrict(data, (*plain)(c))
}

// ToolInfo is the tool call for which the View was opened.
type ToolInfo struct {
	ID   any           `json:"id,omitzero"` // id of the tools/call request: a string or a number
	Tool Raw[mcp.Tool] `json:"tool"`
}

// ContainerDimensions is the size of the View's container in pixels. A dimension is
// fixed (Height), bounded (MaxHeight) or absent; the View chooses an absent one.
type ContainerDimensions struct {
	Height    *float64 `json:"height,omitzero"`
	MaxHeight *float64 `json:"maxHeight,omitzero"`
	Width     *float64 `json:"width,omitzero"`
	MaxWidth  *float64 `json:"maxWidth,omitzero"`
}

// DeviceCapabilities describe the person's pointing device; nil means unknown.
type DeviceCapabilities struct {
	Touch *bool `json:"touch,omitzero"`
	Hover *bool `json:"hover,omitzero"`
}

// SafeAreaInsets are the margins, in pixels, that the device may cover.
type SafeAreaInsets struct {
	Top    float64 `json:"top"`
	Right  float64 `json:"right"`
	Bottom float64 `json:"bottom"`
	Left   float64 `json:"left"`
}

// Styles describe the look of the host.
type Styles struct {
	Variables map[StyleVariable]string `json:"variables,omitzero"`
	CSS       *CSS                     `json:"css,omitzero"`
}

// CSS is style that a View may insert unchanged.
type CSS struct {
	Fonts string `json:"fonts,omitzero"` // @font-face and @import rules
}
