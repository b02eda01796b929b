/* The fastest MCP server worth measuring against: a line in, a canned answer with its id out.
 *
 *     cc -O2 -o echo bench/echo.c
 *     ./echo [BYTES [NOTES]]   the text of each call's result has so many bytes (16 if not said),
 *                              and so many notifications come before it (0)
 *
 * It reads no JSON: the first "id": of a line is taken for the request's, which holds for clients
 * that write it before their params, as ours and mcp-jail do. Legacy era only. It answers all the
 * lines of one read in one write, so that it is never what a measurement measures.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES (64 * 1024)

static const char INITIALIZE[] =
    "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},"
    "\"serverInfo\":{\"name\":\"echo-c\",\"version\":\"1\"}}";
static const char TOOLS[] =
    "{\"tools\":[{\"name\":\"write_file\",\"description\":\"Write nothing.\",\"inputSchema\":"
    "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},"
    "\"content\":{\"type\":\"string\"}}}}]}";

static const char NOTE[] =
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":"
    "{\"level\":\"info\",\"data\":\"a note of some forty characters, no more\"}}\n";

static char *result; /* of every call */
static unsigned long notes; /* before every result of a call */
static char *line;   /* what has come of a line so far */
static size_t held, room;
static char *out;
static size_t filled, space;

static void *grown(void *block, size_t size) {
    block = realloc(block, size);
    if (block == NULL) abort();
    return block;
}

static void append(const char *bytes, size_t size) {
    if (filled + size > space) out = grown(out, space = 2 * (filled + size));
    memcpy(out + filled, bytes, size);
    filled += size;
}

static void flush(void) {
    for (size_t done = 0; done < filled;) {
        ssize_t wrote = write(1, out + done, filled - done);
        if (wrote <= 0) exit(1);
        done += (size_t)wrote;
    }
    filled = 0;
}

/* Answer one line, a NUL after it; what has no id is a notification. */
static void answer(const char *text) {
    const char *id = strstr(text, "\"id\":");
    if (id == NULL) return;
    id += 5;
    while (*id == ' ') id++;
    size_t size = *id == '"' ? strcspn(id + 1, "\"") + 2 : strcspn(id, ",} ");
    const char *given = result;
    if (strstr(text, "\"initialize\"") != NULL) given = INITIALIZE;
    else if (strstr(text, "\"tools/list\"") != NULL) given = TOOLS;
    for (unsigned long note = 0; given == result && note < notes; note++) {
        append(NOTE, sizeof NOTE - 1);
        if (filled > READ_BYTES) flush();
    }
    append("{\"jsonrpc\":\"2.0\",\"id\":", 22);
    append(id, size);
    append(",\"result\":", 10);
    append(given, strlen(given));
    append("}\n", 2);
}

static char *call_result(size_t bytes) {
    static const char head[] = "{\"content\":[{\"type\":\"text\",\"text\":\"";
    static const char tail[] = "\"}],\"isError\":false}";
    char *text = grown(NULL, sizeof head + bytes + sizeof tail);
    char *end = stpcpy(text, head);
    memset(end, 'x', bytes);
    strcpy(end + bytes, tail);
    return text;
}

int main(int argc, char **argv) {
    result = call_result(argc > 1 ? strtoul(argv[1], NULL, 10) : 16);
    notes = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    for (;;) {
        if (room - held < READ_BYTES + 1) line = grown(line, room = 2 * (held + READ_BYTES + 1));
        ssize_t got = read(0, line + held, READ_BYTES);
        if (got <= 0) return got < 0;
        char *start = line, *end = line + held + got, *newline;
        /* Only what is new can hold a newline. */
        for (char *from = line + held; (newline = memchr(from, '\n', (size_t)(end - from)));) {
            *newline = '\0';
            answer(start);
            from = start = newline + 1;
        }
        flush();
        held = (size_t)(end - start);
        memmove(line, start, held);
    }
}
