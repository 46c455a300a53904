package ocr

import (
	"encoding/json"

	"github.com/junctor-mcp/junctor/internal/builtin"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// visionSchema marks the credential as a secret: history leaves out arguments that
// are writeOnly or have the format password. Null is allowed since some clients send
// the default of every argument.
const visionSchema = `{
	"type": "object",
	"properties": {
		"image_path": {"type": "string", "description": "the image: a file under the folders that the operator opened, a data: URI, or an https URL; PNG, JPEG, GIF, BMP, TIFF or WebP of at most 20 MiB"},
		"credentials_json": {"type": ["string", "null"], "default": null, "format": "password", "writeOnly": true, "description": "the JSON of a service account, or an API key; leave it out to use the one that is stored for this server"}
	},
	"required": ["image_path"]
}`

// tesseractSchema is the input schema of tesseract_ocr.
const tesseractSchema = `{
	"type": "object",
	"properties": {
		"image_path": {"type": "string", "description": "the image: a file under the folders that the operator opened, a data: URI, or an https URL; PNG, JPEG, GIF, BMP, TIFF or WebP of at most 20 MiB"},
		"language": {"type": "string", "pattern": "^[a-z_+]{2,}$", "maxLength": 64, "default": "eng", "description": "the language of the text by its tesseract code, such as eng, deu or chi_sim; several are joined with +"}
	},
	"required": ["image_path"]
}`

// textSchema is the output schema of both tools.
const textSchema = `{
	"type": "object",
	"properties": {
		"text": {"type": "string", "description": "all text in reading order; empty when there is none in the image"},
		"confidence": {"type": "number", "minimum": 0, "maximum": 1, "description": "how sure the engine is; 0 when there is no text"},
		"formatted_text_lines": {"type": "array", "items": {"type": "string"}, "description": "the lines in reading order, without empty ones"}
	},
	"required": ["text", "confidence", "formatted_text_lines"]
}`

// visionInput are the arguments of google_vision_ocr.
type visionInput struct {
	ImagePath   string       `json:"image_path"`
	Credentials *seal.Secret `json:"credentials_json"`
}

// tesseractInput are the arguments of tesseract_ocr.
type tesseractInput struct {
	ImagePath string `json:"image_path"`
	Language  string `json:"language"`
}

// readOnlyAnnotations are the annotations of both tools. They may fetch images
// from the network.
func readOnlyAnnotations() *builtin.Annotations {
	return &builtin.Annotations{ReadOnly: new(true), Idempotent: new(true), OpenWorld: new(true)}
}

// visionTool is the metadata of google_vision_ocr.
func visionTool() builtin.Tool {
	return builtin.Tool{
		Name:         "google_vision_ocr",
		Title:        "Read text with Google Cloud Vision",
		Description:  "Extract text from images using Google Cloud Vision API. The image is sent to Google.",
		InputSchema:  json.RawMessage(visionSchema),
		OutputSchema: json.RawMessage(textSchema),
		Annotations:  readOnlyAnnotations(),
		Timeout:      callTimeout,
	}
}

// tesseractTool is the metadata of tesseract_ocr.
func tesseractTool() builtin.Tool {
	return builtin.Tool{
		Name:         "tesseract_ocr",
		Title:        "Read text with tesseract",
		Description:  "Extract text from images with the tesseract engine on this machine. The image is sent to nobody.",
		InputSchema:  json.RawMessage(tesseractSchema),
		OutputSchema: json.RawMessage(textSchema),
		Annotations:  readOnlyAnnotations(),
		Timeout:      callTimeout,
	}
}
