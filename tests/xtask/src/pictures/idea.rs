//! The idea: a Deployment for each controller, beside one host with plugins.

use super::svg::Svg;

/// Draws both sides.
pub(super) fn draw() -> String {
    let title = "Today each controller is a Deployment with its own watch, cache and credentials. With informer one process \
                 watches and caches, and controllers are plugins.";
    let mut picture = Svg::new(900, 352, title);
    today(&mut picture);
    with_informer(&mut picture);
    picture.finish()
}

fn today(picture: &mut Svg) {
    picture.text("title", (8, 24), "Today: a Deployment per controller");
    picture.rect("box", (8, 44), (400, 40));
    picture.centred("", (208, 69), "kube-apiserver");
    for (number, name) in [(0, "config reloader"), (1, "secret copier"), (2, "TTL janitor")] {
        let x = 8 + number * 138;
        picture.arrow((x + 62, 84), (x + 62, 134));
        picture.rect("box", (x, 136), (124, 164));
        picture.centred("", (x + 62, 162), name);
        for (row, part) in [(0, "a watch"), (1, "a cache"), (2, "credentials"), (3, "an image, a role")] {
            picture.centred("small", (x + 62, 196 + row * 26), part);
        }
    }
    picture.text("small", (8, 332), "Each opens its own watches and fills its own cache.");
}

fn with_informer(picture: &mut Svg) {
    picture.text("title", (480, 24), "With informer: a plugin per controller");
    picture.rect("box", (480, 44), (412, 40));
    picture.centred("", (686, 69), "kube-apiserver");
    picture.arrow((686, 84), (686, 134));
    picture.rect("host", (480, 136), (412, 164));
    picture.centred("", (686, 162), "one watch, one cache, one set of credentials");
    for (number, name) in [(0, "reloader"), (1, "copier"), (2, "janitor")] {
        let x = 500 + number * 130;
        picture.arrow((x + 56, 172), (x + 56, 202));
        picture.rect("plugin", (x, 204), (112, 80));
        picture.centred("mono", (x + 56, 232), &format!("{name}.wasm"));
        picture.centred("small", (x + 56, 252), "a sandbox,");
        picture.centred("small", (x + 56, 270), "own grants");
    }
    picture.text("small", (480, 332), "Each is one file, replaced while events flow.");
}
