package ocr

import (
	"encoding/json"

	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// The credential is marked as a secret: what records calls leaves out arguments
// that are writeOnly or of the format password. Null is what a client sends that
// fills in defaults.
const visionSchema = `{
	"type": "object",
	"properties": {
		"image_path": {"type": "string", "description": "the image: a file under the folders that the operator opened, a data: URI, or an https URL; PNG, JPEG, GIF, BMP, TIFF or WebP of at most 20 MiB"},
		"credentials_json": {"type": ["string", "null"], "default": null, "format": "password", "writeOnly": true, "description": "the JSON of a service account, or an API key; leave it out to use the one that is stored for this server"}
	},
	"required": ["image_path"]
}`

const tesseractSchema = `{
	"type": "object",
	"properties": {
		"image_path": {"type": "string", "description": "the image: a file under the folders that the operator opened, a data: URI, or an https URL; PNG, JPEG, GIF, BMP, TIFF or WebP of at most 20 MiB"},
		"language": {"type": "string", "pattern": "^[a-z_+]{2,}$", "maxLength": 64, "default": "eng", "description": "the language of the text by its tesseract code, such as eng, deu or chi_sim; several are joined with +"}
	},
	"required": ["image_path"]
}`

const textSchema = `{
	"type": "object",
	"properties": {
		"text": {"type": "string", "description": "all text in reading order; empty when there is none in the image"},
		"confidence": {"type": "number", "minimum": 0, "maximum": 1, "description": "how sure the engine is; 0 when there is no text"},
		"formatted_text_lines": {"type": "array", "items": {"type": "string"}, "description": "the lines in reading order, without empty ones"}
	},
	"required": ["text", "confidence", "formatted_text_lines"]
}`

type visionInput struct {
	ImagePath   string       `json:"image_path"`
	Credentials *seal.Secret `json:"credentials_json"`
}

type tesseractInput struct {
	ImagePath string `json:"image_path"`
	Language  string `json:"language"`
}

func annotations() *builtin.Annotations {
	return &builtin.Annotations{ReadOnly: new(true), Idempotent: new(true), OpenWorld: new(true)}
}

func visionTool() builtin.Tool {
	return builtin.Tool{
		Name:         "google_vision_ocr",
		Title:        "Read text with Google Cloud Vision",
		Description:  "Extract text from images using Google Cloud Vision API. The image is sent to Google.",
		InputSchema:  json.RawMessage(visionSchema),
		OutputSchema: json.RawMessage(textSchema),
		Annotations:  annotations(),
		Timeout:      callTimeout,
	}
}

func tesseractTool() builtin.Tool {
	return builtin.Tool{
		Name:         "tesseract_ocr",
		Title:        "Read text with tesseract",
		Description:  "Extract text from images with the tesseract engine on this machine. The image is sent to nobody.",
		InputSchema:  json.RawMessage(tesseractSchema),
		OutputSchema: json.RawMessage(textSchema),
		Annotations:  annotations(),
		Timeout:      callTimeout,
	}
}
