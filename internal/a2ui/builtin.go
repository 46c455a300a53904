package a2ui

// Ids of the catalogues that are known from the start.
const (
	BankingCatalog = "https://aibank.local/catalogs/banking-v1.json"
	MapsCatalog    = "https://aibank.local/catalogs/googlemaps-v1.json"
	AppsCatalog    = "https://aibank.local/catalogs/mcp-v1.json"
)

// BasicCatalog is the id of A2UI's own catalogue in a version.
func BasicCatalog(v Version) string {
	switch v {
	case V08:
		return "https://a2ui.org/specification/v0_8/standard_catalog_definition.json"
	case V10:
		return "https://a2ui.org/specification/v1_0/catalogs/basic/catalog.json"
	case V09:
	}
	return "https://a2ui.org/specification/v0_9/catalogs/basic/catalog.json"
}

// Builtin is what is known from the start.
func Builtin() *Catalogs {
	c, err := NewCatalogs(basic(), banking(), places(), apps())
	if err != nil {
		return &Catalogs{} // a test holds that they fit together
	}
	return c
}

func req(name string, kind Kind) Property { return Property{Name: name, Kind: kind, Required: true} }

func opt(name string, kind Kind) Property { return Property{Name: name, Kind: kind} }

func choice(name string, words ...string) Property {
	return Property{Name: name, Kind: Choice, Words: words}
}

func one(name string, properties ...Property) Component { return Component{name, properties} }

// basic is A2UI's own catalogue, as v0.9 has it.
func basic() Catalog {
	align := choice("align", "start", "center", "end", "stretch")
	justify := choice("justify", "start", "center", "end", "spaceBetween", "spaceAround", "spaceEvenly", "stretch")
	checks := opt("checks", Checks)
	return Catalog{
		ID: BasicCatalog(V09), Basic: true,
		Aliases: []string{
			BasicCatalog(V08), BasicCatalog(V10),
			"https://a2ui.org/specification/v0_9_1/catalogs/basic/catalog.json", "https://a2ui.org/specification/v0_9/basic_catalog.json",
			"https://a2ui.org/specification/v0_9/standard_catalog_definition.json",
		},
		Components: []Component{
			one("Text", req("text", BoundText), choice("variant", "h1", "h2", "h3", "h4", "h5", "caption", "body")),
			one("Image", req("url", BoundText), choice("fit", "contain", "cover", "fill", "none", "scaleDown"),
				choice("variant", "icon", "avatar", "smallFeature", "mediumFeature", "largeFeature", "header")),
			one("Icon", Property{Name: "name", Kind: IconName, Required: true, Words: icons()}),
			one("Video", req("url", BoundText)),
			one("AudioPlayer", req("url", BoundText)),
			one("Row", req("children", Children), justify, align),
			one("Column", req("children", Children), justify, align),
			one("List", req("children", Children), choice("direction", "vertical", "horizontal"), align),
			one("Card", req("child", Child)),
			one("Tabs", req("tabs", TabList)),
			one("Modal", req("trigger", Child), req("content", Child)),
			one("Divider", choice("axis", "horizontal", "vertical")),
			one("Button", req("child", Child), choice("variant", "default", "primary", "borderless"), req("action", OnAction), checks),
			one("TextField", req("label", BoundText), opt("value", BoundText), choice("variant", "longText", "number", "shortText", "obscured"), opt("validationRegexp", PlainText), checks),
			one("CheckBox", req("label", BoundText), req("value", BoundFlag), checks),
			one("ChoicePicker", opt("label", BoundText), choice("variant", "multipleSelection", "mutuallyExclusive"), req("options", OptionList), req("value", BoundTexts),
				choice("displayStyle", "checkbox", "chips"), opt("filterable", PlainFlag), checks),
			one("Slider", opt("label", BoundText), opt("min", PlainNumber), req("max", PlainNumber), req("value", BoundNumber), checks),
			one("DateTimeInput", req("value", BoundText), opt("enableDate", PlainFlag), opt("enableTime", PlainFlag), opt("min", BoundDate), opt("max", BoundDate), opt("label", BoundText), checks),
		},
	}
}

// banking is what a bank shows. Amounts are texts as they are to be read, or
// numbers of the currency. Lists are bound to data: each member of
// TransactionList's items has id, date, description, amount and type, each of
// AccountOverview's accounts what AccountCard takes. An action's event is told
// the id of what was pressed.
func banking() Catalog {
	return Catalog{
		ID: BankingCatalog,
		Components: []Component{
			one("AccountCard", req("name", BoundText), req("balance", BoundValue), opt("accountId", BoundText), opt("number", BoundText), opt("type", BoundText), opt("currency", BoundText), opt("action", OnAction)),
			one("AccountOverview", req("accounts", BoundValue), opt("title", BoundText), opt("total", BoundValue), opt("currency", BoundText), opt("action", OnAction)),
			one("AccountDetail", req("name", BoundText), req("balance", BoundValue), opt("number", BoundText), opt("sortCode", BoundText), opt("type", BoundText), opt("available", BoundValue),
				opt("overdraft", BoundValue), opt("currency", BoundText)),
			one("TransactionList", req("items", BoundValue), opt("title", BoundText), opt("currency", BoundText), opt("empty", BoundText), opt("action", OnAction)),
			one("CreditCardSummary", req("name", BoundText), req("balance", BoundValue), opt("number", BoundText), opt("limit", BoundValue), opt("available", BoundValue), opt("minimumPayment", BoundValue),
				opt("dueDate", BoundText), opt("currency", BoundText)),
			one("MortgageDetail", req("balance", BoundValue), opt("name", BoundText), opt("property", BoundText), opt("rate", BoundValue), opt("rateType", BoundText), opt("monthlyPayment", BoundValue), opt("nextPayment", BoundText),
				opt("endDate", BoundText), opt("term", BoundText), opt("currency", BoundText)),
			one("SavingsSummary", req("name", BoundText), req("balance", BoundValue), opt("number", BoundText), opt("rate", BoundValue), opt("interest", BoundValue), opt("goal", BoundValue), opt("currency", BoundText)),
		},
	}
}

// places is a place on a map.
func places() Catalog {
	return Catalog{
		ID: MapsCatalog, Namespace: "googlemaps",
		Components: []Component{one("googlemaps:MapView", req("latitude", BoundNumber), req("longitude", BoundNumber), opt("label", BoundText), opt("zoom", PlainNumber))},
	}
}

// AppFrame is the component that is an App.
const AppFrame = "mcp:AppFrame"

// apps is the page that a tool brings, in a frame: of a server that is connected
// here, or at an address. Where a fallback is named, the page is shown only if it is
// approved, begins in time and does not fail; else the fallback is.
func apps() Catalog {
	return Catalog{
		ID: AppsCatalog, Namespace: "mcp",
		Components: []Component{
			one(AppFrame, opt("server", PlainText), opt("mcpEndpointUrl", PlainText), req("resourceUri", PlainText), req("toolName", PlainText), opt("toolInput", BoundObject), opt("fallback", Child)),
		},
	}
}

func icons() []string {
	return []string{
		"accountCircle", "add", "arrowBack", "arrowForward", "attachFile", "calendarToday", "call", "camera", "check", "close", "delete", "download", "edit", "event", "error",
		"fastForward", "favorite", "favoriteOff", "folder", "help", "home", "info", "locationOn", "lock", "lockOpen", "mail", "menu", "moreVert", "moreHoriz", "notificationsOff",
		"notifications", "pause", "payment", "person", "phone", "photo", "play", "print", "refresh", "rewind", "search", "send", "settings", "share", "shoppingCart", "skipNext",
		"skipPrevious", "star", "starHalf", "starOff", "stop", "upload", "visibility", "visibilityOff", "volumeDown", "volumeMute", "volumeOff", "volumeUp", "warning",
	}
}
