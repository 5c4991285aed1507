#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Offers one tool of this machine to a Gatehouse server (or n8n):  client.py URL TOKEN"""
import datetime, json, sys, threading, time, urllib.error, urllib.request

URL, key = sys.argv[1].rstrip("/") + "/rest/instance-ai/gateway/", sys.argv[2]
TOOLS = [{"name": "what_time", "description": "The time on this machine.",
          "inputSchema": {"type": "object", "properties": {}}}]

def request(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"X-Gateway-Key": key, "Content-Type": "application/json"}
    return urllib.request.urlopen(urllib.request.Request(URL + path, data, headers), timeout=45)

def join():
    global key
    with request("init", {"rootPath": "/", "hostIdentifier": "example", "tools": TOOLS,
                          "toolCategories": []}) as answer:
        key = json.load(answer)["data"].get("sessionKey", key)  # a token is used up by this

def answer(call):
    text = datetime.datetime.now().isoformat()
    request("response/" + call["requestId"], {"result": {"content": [{"type": "text", "text": text}]}}).close()

join()
delay = 1
while True:
    try:
        with request("events") as stream:
            print("connected", flush=True)
            delay = 1
            for line in stream:  # a comment comes every 15 s; after 45 s of silence this fails
                event = json.loads(line[5:]) if line.startswith(b"data:") else {}
                if event.get("type") == "gateway-disconnect":
                    sys.exit("the server ended the session")
                if event.get("type") == "filesystem-request":
                    threading.Thread(target=answer, args=[event["payload"]]).start()
    except OSError as problem:  # also every HTTP error
        if isinstance(problem, urllib.error.HTTPError) and problem.code == 403:
            join()  # if this is refused too, a new token is needed
    time.sleep(delay)
    delay = min(2 * delay, 30)
