package informer

import (
	"context"
	"log/slog"
	"strings"

	"github.com/informer-host/informer/plugins/sdk/go/internal/host"
)

// LevelTrace is the lowest level of the host, below that of debugging.
const LevelTrace = slog.LevelDebug - 4

// A LogHandler writes the records of [log/slog] to the log of the host, with attributes as fields. The names of groups stand before
// the names of their attributes: group.name. It is the default of slog in a component. Its zero value is ready for use.
type LogHandler struct {
	fields [][2]string
	prefix string
}

// Enabled returns true if the host keeps lines of this level.
func (LogHandler) Enabled(_ context.Context, level slog.Level) bool {
	return host.LogEnabled(wire(level))
}

// Handle writes a record. It does not fail: the host drops and counts lines beyond the limit of the plugin.
func (handler LogHandler) Handle(_ context.Context, record slog.Record) error {
	fields := handler.fields[:len(handler.fields):len(handler.fields)]
	record.Attrs(func(attribute slog.Attr) bool {
		fields = appended(fields, handler.prefix, attribute)
		return true
	})
	host.Log(wire(record.Level), host.UTF8(record.Message), fields)
	return nil
}

// WithAttrs returns a handler whose lines have these fields too.
func (handler LogHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	fields := handler.fields[:len(handler.fields):len(handler.fields)]
	for _, attribute := range attributes {
		fields = appended(fields, handler.prefix, attribute)
	}
	return LogHandler{fields, handler.prefix}
}

// WithGroup returns a handler whose later fields have the name of the group before theirs.
func (handler LogHandler) WithGroup(name string) slog.Handler {
	if name != "" {
		handler.prefix += name + "."
	}
	return handler
}

func appended(fields [][2]string, prefix string, attribute slog.Attr) [][2]string {
	value := attribute.Value.Resolve()
	if value.Kind() != slog.KindGroup {
		if attribute.Key == "" {
			return fields
		}
		return append(fields, [2]string{host.UTF8(prefix + attribute.Key), host.UTF8(value.String())})
	}
	prefix += strings.TrimPrefix(attribute.Key+".", ".")
	for _, member := range value.Group() {
		fields = appended(fields, prefix, member)
	}
	return fields
}

func wire(level slog.Level) host.Level {
	switch {
	case level < slog.LevelDebug:
		return host.LevelTrace
	case level < slog.LevelInfo:
		return host.LevelDebug
	case level < slog.LevelWarn:
		return host.LevelInfo
	case level < slog.LevelError:
		return host.LevelWarn
	default:
		return host.LevelError
	}
}
