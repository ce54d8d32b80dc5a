package prompts

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/fileio"
)

// fieldsOf are the texts of an object in a list.
func fieldsOf(list []any, i int, names ...string) ([]string, error) {
	object, ok := list[i].(map[string]any)
	if !ok {
		return nil, errors.New("expected an object")
	}
	texts := make([]string, len(names))
	for k, name := range names {
		if texts[k], ok = object[name].(string); !ok && object[name] != nil {
			return nil, fmt.Errorf("%s is not a text", name)
		}
	}
	return texts, nil
}

// messagesOf are the messages of a chat. Those that have more than a role and a text go to the server as they are.
func (r row) messagesOf(v any) ([]backend.Message, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, errors.New("messages is not a list of objects")
	}
	messages := []backend.Message{}
	for i := range list {
		m, err := r.message(list, i)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		messages = append(messages, m)
	}
	return messages, nil
}

func (r row) message(list []any, i int) (m backend.Message, err error) {
	f, err := fieldsOf(list, i, "role")
	if err == nil && f[0] == "" {
		err = errors.New("the role is missing")
	}
	if err != nil {
		return m, err
	}
	m.Role = f[0]
	object := list[i].(map[string]any)
	switch content := object["content"].(type) {
	case nil:
	case string:
		m.Content = content
	case []any:
		if m.Content, err = r.parts(content); err != nil {
			return m, err
		}
	default:
		return m, errors.New("content is not a text, and not a list of parts")
	}
	plain := true
	for name, value := range object {
		_, list := value.([]any)
		plain = plain && (value == nil || name == "role" || name == "content" && !list)
	}
	if !plain {
		m.Raw, err = json.Marshal(object, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	}
	return m, err
}

// parts are the texts of the parts of a content. Images of files are read into them.
func (r row) parts(list []any) (text string, err error) {
	for i, v := range list {
		part, ok := v.(map[string]any)
		kind, _ := part["type"].(string)
		switch {
		case !ok || kind == "":
			err = errors.New("expected an object with a type")
		case kind == "text":
			words, isText := part["text"].(string)
			if text += words; !isText {
				err = errors.New("text is not a text")
			}
		case kind == "image_url":
			image, _ := part["image_url"].(map[string]any)
			url, _ := image["url"].(string)
			if url == "" {
				err = errors.New("image_url has no url")
			} else {
				image["url"], err = r.image(url)
			}
		}
		if err != nil {
			return "", fmt.Errorf("part %d: %w", i+1, err)
		}
	}
	return text, nil
}

// maxImage is the longest file of an image in bytes.
const maxImage = 64 << 20

// image is the address of an image for the server: of a file, which is named from the folder of the prompts, it has the bytes.
func (r row) image(url string) (string, error) {
	for _, scheme := range []string{"data:", "http://", "https://"} {
		if strings.HasPrefix(url, scheme) {
			return url, nil
		}
	}
	path := strings.TrimPrefix(url, "file://")
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.dir, path)
	}
	data, err := fileio.ReadFile(path, maxImage)
	if err != nil {
		return "", fmt.Errorf("the image: %w", err)
	}
	kind := http.DetectContentType(data)
	if !strings.HasPrefix(kind, "image/") {
		return "", fmt.Errorf("the image: %s is %s: must be JPEG, PNG, GIF, WebP or BMP", path, kind)
	}
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data), nil
}

// multiTurn makes the turns of a row of aiperf's multi_turn. Each has a text or several, perhaps images, and the delay before it in milliseconds.
func (r row) multiTurn(p *backend.Prompt, v any) error {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return errors.New("turns is not a list of objects")
	}
	var messages []backend.Message // of the next turn
	limit := p.MaxTokens           // of the row
	for i := range list {
		fields, ok := list[i].(map[string]any)
		if !ok {
			return fmt.Errorf("turn %d: expected an object", i+1)
		}
		m, err := r.turnMessage(fields)
		if err != nil {
			return fmt.Errorf("turn %d: %w", i+1, err)
		}
		if messages = append(messages, m); m.Role == "system" && i < len(list)-1 {
			continue
		}
		delay, isNumber := amount(fields["delay"])
		length, isLength := amount(fields["output_length"])
		if !isNumber || !isLength {
			return fmt.Errorf("turn %d: delay and output_length must be numbers from 0", i+1)
		}
		if p.Messages == nil {
			p.Messages, p.MaxTokens = messages, cmp.Or(int(length), limit)
		} else if r.turns == 0 || len(p.Turns) < r.turns-1 {
			p.Turns = append(p.Turns, backend.Turn{Messages: messages, Delay: time.Duration(delay * float64(time.Millisecond)), MaxTokens: cmp.Or(int(length), limit)})
		}
		messages = nil
	}
	return nil
}

// amount is a number from 0; none is 0.
func amount(v any) (n float64, ok bool) {
	const most = 1 << 31
	switch v := v.(type) {
	case nil:
	case int64:
		n = float64(v)
	case float64:
		n = v
	default:
		return 0, false
	}
	return n, n >= 0 && n < most
}

// turnMessage is the message of a turn of aiperf's multi_turn.
func (r row) turnMessage(fields map[string]any) (backend.Message, error) {
	role, _ := fields["role"].(string)
	var content []any
	for _, kind := range []string{"text", "image"} {
		for _, name := range []string{kind, kind + "s"} {
			values, several := fields[name].([]any)
			if !several && fields[name] != nil {
				values = []any{fields[name]}
			}
			for _, v := range values {
				text, ok := v.(string)
				switch {
				case !ok:
					return backend.Message{}, fmt.Errorf("%s: must be a text, or a list of texts", name)
				case kind == "text":
					content = append(content, map[string]any{"type": "text", "text": text})
				default:
					content = append(content, map[string]any{"type": "image_url", "image_url": map[string]any{"url": text}})
				}
			}
		}
	}
	if len(content) == 0 {
		return backend.Message{}, errors.New("it has no text: must be text, texts, image or images")
	}
	m := map[string]any{"role": cmp.Or(role, "user"), "content": content}
	if text, ok := content[0].(map[string]any)["text"]; ok && len(content) == 1 {
		m["content"] = text
	}
	return r.message([]any{m}, 0)
}

// images puts the images of columns of their own behind the text of a prompt.
func (r row) images(p *backend.Prompt) error {
	var list []any
	for _, column := range []string{"image", "images"} {
		switch v, _ := r.value(column); v := v.(type) {
		case nil:
		case string:
			list = append(list, v)
		case []any:
			list = append(list, v...)
		default:
			return fmt.Errorf("%s: must be the name of a file, or a list of them", column)
		}
	}
	if list == nil {
		return nil
	}
	if p.Messages != nil || p.Text == "" {
		return errors.New("images of columns belong to the text of a prompt: in messages they are parts of a content")
	}
	content := []any{map[string]any{"type": "text", "text": p.Text}}
	for _, v := range list {
		url, ok := v.(string)
		if !ok {
			return fmt.Errorf("images: must be a list of names of files, has %.40v", v)
		}
		content = append(content, map[string]any{"type": "image_url", "image_url": map[string]any{"url": url}})
	}
	m, err := r.message([]any{map[string]any{"role": "user", "content": content}}, 0)
	p.Messages, p.Text = []backend.Message{m}, ""
	return err
}

// tools takes over the tools that a prompt offers.
func (r row) tools(p *backend.Prompt) error {
	v, offered := r.value("tools")
	if list, ok := v.([]any); offered && (!ok || slices.ContainsFunc(list, func(v any) bool { _, ok := v.(map[string]any); return !ok })) {
		return errors.New("tools is not a list of objects")
	}
	choice, chosen := r.value("tool_choice")
	switch {
	case !offered && !chosen:
		return nil
	case !offered:
		return errors.New("tool_choice needs tools")
	case p.Messages == nil:
		return errors.New("tools belong to the messages of a chat")
	}
	var err error
	if p.Tools, err = json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true)); err == nil && chosen {
		p.ToolChoice, err = json.Marshal(choice, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	}
	return err
}

// roles are the roles of messages by ShareGPT's names.
var roles = map[string]string{"human": "user", "user": "user", "system": "system", "gpt": "assistant", assistant: assistant, "chatgpt": "assistant",
	"bing": "assistant", "bard": "assistant"}

const assistant = "assistant"

// turnsOf are the turns of a conversation, all or those before the first answer to a user.
func turnsOf(v any, all bool) ([]backend.Message, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, errors.New("conversations is not a list of objects")
	}
	messages, asked := []backend.Message{}, false
	for i := range list {
		f, err := fieldsOf(list, i, "from", "value")
		if err != nil {
			return nil, fmt.Errorf("turn %d: %w", i+1, err)
		}
		role, known := roles[strings.ToLower(f[0])]
		switch {
		case !known:
			return nil, fmt.Errorf("turn %d: from is %.40q: must be human, gpt or system", i+1, f[0])
		case role != assistant || all && asked:
			messages, asked = append(messages, backend.Message{Role: role, Content: f[1]}), asked || role == "user"
		case asked:
			return messages, nil
		}
	}
	return messages, nil
}

// split makes turns of the messages behind the first answer to a user. Where the results of tools follow an answer it stays the recorded one.
func (r row) split(p *backend.Prompt) {
	all := p.Messages
	asked := slices.IndexFunc(all, func(m backend.Message) bool { return m.Role == "user" })
	answered := func(from int) int {
		i := slices.IndexFunc(all[from:], func(m backend.Message) bool { return m.Role == assistant })
		if i < 0 {
			return len(all)
		}
		return from + i
	}
	at := answered(max(asked, 0))
	if asked < 0 || at == len(all) {
		return
	}
	p.Messages = all[:at]
	for at < len(all) && len(p.Turns) < r.turns-1 {
		end := answered(at + 1)
		turn := backend.Turn{Messages: all[at+1 : end], MaxTokens: p.MaxTokens}
		if len(turn.Messages) == 0 {
			return // two answers, or one at the end
		}
		if r.recorded || turn.Messages[0].Role == "tool" {
			turn.Answer = &all[at]
		}
		p.Turns, at = append(p.Turns, turn), end
	}
}
