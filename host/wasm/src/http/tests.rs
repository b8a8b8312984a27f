//! Requests against a small server of this machine.

use std::{
    io,
    net::IpAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::*;

/// Far longer than any of these exchanges takes.
const LONG: Duration = Duration::from_secs(20);

/// What the server does once it has read a request.
#[derive(Clone)]
enum Reply {
    Bytes(Vec<u8>),
    /// Writes the bytes and never ends.
    Hangs(Vec<u8>),
    /// Writes as long as somebody reads.
    Endless,
}

/// A server, how many connections it took, and what they asked.
struct Server {
    port: u16,
    connections: Arc<AtomicUsize>,
    asked: tokio::sync::mpsc::UnboundedReceiver<String>,
}

async fn server(reply: Reply) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::new(AtomicUsize::new(0));
    let (tell, asked) = tokio::sync::mpsc::unbounded_channel();
    let taken = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            taken.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(serve(stream, reply.clone(), tell.clone()));
        }
    });
    Server {
        port,
        connections,
        asked,
    }
}

async fn serve(
    mut stream: TcpStream,
    reply: Reply,
    tell: tokio::sync::mpsc::UnboundedSender<String>,
) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") && !request.ends_with(b"the end") {
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    tell.send(String::from_utf8(request).unwrap()).unwrap();
    match reply {
        Reply::Bytes(bytes) => stream.write_all(&bytes).await,
        Reply::Hangs(bytes) => {
            stream.write_all(&bytes).await?;
            std::future::pending().await
        }
        Reply::Endless => {
            let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
            stream.write_all(head).await?;
            loop {
                stream.write_all(b"4\r\nmore\r\n").await?;
            }
        }
    }
}

fn response(head: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Bytes(format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes())
}

fn get(url: impl Into<String>) -> HttpRequest {
    HttpRequest {
        method: "GET".to_owned(),
        url: url.into(),
        headers: Vec::new(),
        body: None,
    }
}

fn grants(texts: &[&str]) -> Vec<HttpGrant> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

impl Server {
    async fn ask(
        &self,
        max_response_bytes: u64,
        timeout: Duration,
    ) -> Result<HttpResponse, HttpError> {
        let place = format!("127.0.0.1:{}", self.port);
        let request = get(format!("http://{place}/x"));
        HttpClient::new()
            .send(&grants(&[&place]), request, max_response_bytes, timeout)
            .await
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn sends_what_was_asked_and_returns_the_whole_response() {
    let reply = response("201 Created\r\nset-cookie: a=1\r\nset-cookie: b=2", "made");
    let mut server = server(reply).await;
    let client = HttpClient::new();
    for place in ["localhost", "127.0.0.1"] {
        let place = format!("{place}:{}", server.port);
        let request = HttpRequest {
            method: "POST".to_owned(),
            url: format!("http://{place}/make?a=b#c"),
            headers: vec![("X-Key".to_owned(), b"key".to_vec())],
            body: Some(b"to the end".to_vec()),
        };
        let response = client
            .send(&grants(&[&place]), request, 1 << 20, LONG)
            .await
            .unwrap();
        assert_eq!(response.status, 201);
        assert_eq!(response.body, b"made");
        let header = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
        let expected = [
            header("set-cookie", "a=1"),
            header("set-cookie", "b=2"),
            header("content-length", "4"),
        ];
        assert_eq!(response.headers, expected);
        let asked = server.asked.recv().await.unwrap();
        assert!(asked.starts_with("POST /make?a=b HTTP/1.1\r\n"), "{asked}");
        assert!(asked.contains("x-key: key\r\n"), "{asked}");
        assert!(asked.contains(&format!("host: {place}\r\n")), "{asked}");
        assert!(!asked.contains("cookie"), "{asked}");
        assert!(asked.ends_with("\r\n\r\nto the end"), "{asked}");
    }
    assert_eq!(server.connections(), 2, "no connection is kept");
}

#[tokio::test]
async fn refuses_what_no_grant_covers_before_it_connects() {
    let server = server(response("200 OK", "secret")).await;
    let url = format!("http://127.0.0.1:{}/", server.port);
    let place = format!("127.0.0.1:{}", server.port);
    let by_name = format!("localhost:{}", server.port);
    for granted in [&[][..], &["127.0.0.1"], &["example.com"], &[&by_name]] {
        let sent = HttpClient::new()
            .send(&grants(granted), get(&url), 1 << 20, LONG)
            .await;
        match sent {
            Err(HttpError::NotGranted(text)) => {
                assert!(text.contains(&format!("`{place}`")), "{text}");
                assert!(text.contains("grant `http`"), "{text}");
            }
            other => panic!("{granted:?}: {other:?}"),
        }
    }
    let sent = HttpClient::new();
    let invalid = sent.send(&[], get("file:///etc/passwd"), 1, LONG).await;
    assert!(matches!(invalid, Err(HttpError::InvalidRequest(_))));
    assert_eq!(server.connections(), 0);
}

type Found = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Names as somebody sets them up who wants into the network of the host.
fn hostile_names(name: &str) -> Found {
    static TIMES: AtomicUsize = AtomicUsize::new(0);
    let public = "93.184.215.14";
    let found = match name {
        "loopback.test" => vec!["127.0.0.1"],
        "mapped.test" => vec!["::ffff:127.0.0.1"],
        "metadata.test" => vec!["169.254.169.254"],
        "some.test" => vec![public, "127.0.0.1"],
        "rebinds.test" if TIMES.fetch_add(1, Ordering::SeqCst) == 0 => vec!["127.0.0.1"],
        "rebinds.test" => panic!("looked up twice"),
        "nowhere.test" => Vec::new(),
        "public.test" => vec![public, "2606:2800:21f::1"],
        other => panic!("{other} was looked up"),
    };
    let found = found
        .into_iter()
        .map(|text| text.parse().unwrap())
        .collect();
    Box::pin(async move { Ok(found) })
}

#[tokio::test]
async fn refuses_a_private_address_behind_a_granted_name() {
    let server = server(response("200 OK", "secret")).await;
    let client = HttpClient::with(hostile_names);
    for (name, address) in [
        ("loopback.test", "127.0.0.1"),
        ("mapped.test", "::ffff:127.0.0.1"),
        ("metadata.test", "169.254.169.254"),
        ("some.test", "127.0.0.1"),
        ("rebinds.test", "127.0.0.1"),
    ] {
        let place = format!("{name}:{}", server.port);
        let request = get(format!("http://{place}/"));
        // Granting the address, too, does not open the name.
        let loopback = format!("127.0.0.1:{}", server.port);
        let sent = client
            .send(&grants(&[&place, &loopback]), request, 1 << 20, LONG)
            .await;
        match sent {
            Err(HttpError::NotGranted(text)) => {
                assert!(
                    text.contains(&format!("`{name}` leads to {address},")),
                    "{text}"
                );
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_name_leads_to_what_was_looked_up_and_checked() {
    use reqwest::dns::Resolve;
    let resolve = async |name: &str| {
        let found = CheckedNames(hostile_names).resolve(name.parse().unwrap());
        let found = found.await.map_err(|error| error.to_string())?;
        Ok::<_, String>(found.map(|place| place.to_string()).collect::<Vec<_>>())
    };
    let public = resolve("public.test").await.unwrap();
    assert_eq!(public, ["93.184.215.14:0", "[2606:2800:21f::1]:0"]);
    // Not asked of anybody: `hostile_names` would panic.
    let local = resolve("localhost").await.unwrap();
    assert_eq!(local, ["127.0.0.1:0", "[::1]:0"]);
    assert!(resolve("some.test").await.unwrap_err().contains("leads to"));
}

#[tokio::test]
async fn a_name_without_addresses_fails() {
    let sent = HttpClient::with(hostile_names)
        .send(
            &grants(&["nowhere.test"]),
            get("http://nowhere.test"),
            1,
            LONG,
        )
        .await;
    match sent {
        Err(HttpError::Failed(text)) => assert!(text.contains("`nowhere.test`"), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_response_over_the_limit_is_cut_off() {
    let head = "content-length".len() as u64 + 3;
    let fits = server(response("200 OK", &"x".repeat(100))).await;
    let whole = fits.ask(100 + head, LONG).await.unwrap();
    assert_eq!(whole.body.len(), 100);
    let cut = fits.ask(99 + head, LONG).await;
    assert_eq!(cut, Err(HttpError::TooLarge(99 + head)));

    let endless = server(Reply::Endless).await;
    assert_eq!(
        endless.ask(5000, LONG).await,
        Err(HttpError::TooLarge(5000))
    );

    let announced = b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n".to_vec();
    let announced = server(Reply::Hangs(announced)).await;
    assert_eq!(
        announced.ask(5000, LONG).await,
        Err(HttpError::TooLarge(5000))
    );

    let headers = format!("200 OK\r\nx: {}", "y".repeat(5000));
    let headers = server(response(&headers, "")).await;
    assert_eq!(
        headers.ask(5000, LONG).await,
        Err(HttpError::TooLarge(5000))
    );
}

#[tokio::test]
async fn a_slow_response_runs_out_of_time() {
    for begun in [
        &b""[..],
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf",
    ] {
        let server = server(Reply::Hangs(begun.to_vec())).await;
        let sent = server.ask(5000, Duration::from_millis(300)).await;
        assert_eq!(sent, Err(HttpError::TimedOut), "{begun:?}");
        assert_eq!(server.connections(), 1);
    }
}

#[tokio::test]
async fn a_redirect_is_a_response_like_another() {
    let target = server(response("200 OK", "target")).await;
    for status in [301, 302, 303, 307, 308] {
        let to = format!("http://127.0.0.1:{}/", target.port);
        let server = server(response(&format!("{status} Go\r\nlocation: {to}"), "")).await;
        let response = server.ask(5000, LONG).await.unwrap();
        assert_eq!(response.status, status);
        let location = ("location".to_owned(), to.into_bytes());
        assert!(response.headers.contains(&location));
        assert_eq!(server.connections(), 1);
    }
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn a_connection_that_ends_early_fails() {
    for begun in [
        &b""[..],
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf",
        b"no http\r\n\r\n",
    ] {
        let server = server(Reply::Bytes(begun.to_vec())).await;
        match server.ask(5000, LONG).await {
            Err(HttpError::Failed(text)) => assert!(text.contains("`127.0.0.1`"), "{text}"),
            other => panic!("{begun:?}: {other:?}"),
        }
        assert_eq!(server.connections(), 1, "nothing is sent twice");
    }
}

#[tokio::test]
async fn nobody_who_listens_is_a_failure_that_says_so() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap().to_string();
    drop(listener);
    let sent = HttpClient::new()
        .send(&grants(&[&place]), get(format!("http://{place}/")), 1, LONG)
        .await;
    match sent {
        Err(HttpError::Failed(text)) => assert!(text.contains("refused"), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn https_begins_with_a_handshake_and_takes_no_plain_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap().to_string();
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let first = stream.read_u8().await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        // Open until the client has seen the answer.
        (first, stream)
    };
    let (granted, client) = (grants(&[&place]), HttpClient::new());
    let sent = client.send(&granted, get(format!("https://{place}/")), 1, LONG);
    let exchange = async { tokio::join!(server, sent) };
    match tokio::time::timeout(LONG, exchange).await {
        Ok(((first, _), sent)) => {
            assert_eq!(first, 0x16, "the kind of a record that shakes hands");
            assert!(matches!(sent, Err(HttpError::Failed(_))), "{sent:?}");
        }
        Err(_nobody_came) => {
            // A system without certificates has none to check the server's by.
            let why = client.secure.get().unwrap().as_ref().unwrap_err();
            assert!(why.contains("certificates"), "{why}");
        }
    }
}
