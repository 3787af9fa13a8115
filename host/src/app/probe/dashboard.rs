//! The running host, as the page of the admin endpoint sees it.

mod letters;
mod objects;
mod rows;

use informer_cache::SharedInformer;
use jiff::Timestamp;

use super::HostProbe;
use crate::{
    admin::{
        Probe,
        dashboard::{
            ConfigurationInForce, Dashboard, LetterPage, LetterQuery, Line, LinePage, LineQuery, Objects,
            ObjectsQuery, Overview, OverviewHost, PluginDetail, Sentences, Totals,
        },
    },
    logging::{self, LEVELS, stream_name},
};

/// The most log lines of an answer.
const LINES: usize = 500;

impl Dashboard for HostProbe {
    fn overview(&self) -> Overview {
        let superseded = self.factory.superseded();
        let superseded = superseded.iter().map(|one| (one.status(), true));
        let current = self.factory.informers();
        let current: Vec<_> = current.iter().map(|one| (SharedInformer::status(one), false)).collect();
        let informers: Vec<_> = superseded
            .chain(current)
            .map(|(status, superseded)| rows::informer(&status, superseded))
            .collect();
        let stands_by = self.stands_by();
        let plugins: Vec<_> = self.plugins.all().iter().map(|one| rows::plugin(one, stands_by)).collect();
        let (cache, guests) = (self.factory.memory(), self.engine.guest_memory());
        let host = OverviewHost {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            unready: Sentences::of(self.unready()),
            degraded: Sentences::of(self.degraded()),
            election: self.election(),
            log: logging::in_force(),
            state: self.state.path().map(|path| path.display().to_string()),
            cache_bytes: cache.used_bytes,
            cache_ceiling_bytes: cache.ceiling_bytes,
            guest_bytes: guests.used_bytes,
            guest_ceiling_bytes: guests.ceiling_bytes,
            totals: Totals {
                synced: informers.iter().filter(|row| row.synced).count(),
                objects: informers.iter().map(|row| row.objects).sum(),
                serving: plugins.iter().filter(|row| row.version.is_some()).count(),
                quarantined: plugins.iter().filter(|row| row.state == rows::QUARANTINE).count(),
                pending: plugins.iter().map(|row| row.pending + row.keys).sum(),
                dead_letters: plugins.iter().map(|row| row.dead_letters).sum(),
                calls: plugins.iter().map(|row| row.calls).sum(),
            },
            newest_line: self.lines.newest(),
            reloads: self.in_force.reloads(),
        };
        Overview { host, informers, plugins }
    }

    fn plugin_detail(&self, name: &str) -> Option<PluginDetail> {
        self.plugins.find(name).map(|plugin| rows::detail(&plugin))
    }

    fn letters(&self, query: &LetterQuery) -> LetterPage {
        letters::page(&self.plugins.all(), query)
    }

    fn objects(&self, query: &ObjectsQuery) -> Result<Objects, String> {
        objects::find(&self.informers(), query)
    }

    fn lines(&self, query: &LineQuery) -> LinePage {
        let (lines, gap) = self.lines.after(query.plugin.as_deref(), query.after, LINES);
        let newest = lines.last().map_or(query.after, |(_, line)| line.number);
        let shown = lines.into_iter().map(|(plugin, line)| Line {
            number: line.number,
            at: Timestamp::try_from(line.at).map(|at| at.to_string()).unwrap_or_default(),
            plugin: (*plugin).to_owned(),
            level: LEVELS.iter().find(|(_, level)| *level == line.level).map_or("", |(word, _)| *word),
            stream: stream_name(line.stream),
            message: line.message.into(),
        });
        LinePage { lines: shown.collect(), newest, gap }
    }

    fn configuration(&self) -> ConfigurationInForce {
        self.in_force.view(self.reload.refused())
    }
}
